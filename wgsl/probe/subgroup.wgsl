// out[i] = how many lanes add up together with lane i: the subgroup size that is really run.
//
// Layout: the packer's (wgsl/README.md). Out: 128 words.

enable subgroups;

@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) i: u32) {
  out[i] = subgroupAdd(1u);
}
