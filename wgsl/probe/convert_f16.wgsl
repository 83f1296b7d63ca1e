// out[i] = the adapter's own f16 of b[i], in the low half of a word: what a packer is held against.
//
// Tile: one value per thread, 64 threads per workgroup.
// Layout: the packer's (wgsl/README.md) with K = 1 and N = the number of values.
// Numerics: pack2x16float, whose rounding WGSL leaves to the adapter.

@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
//!include common/dims.wgsl

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let i = (wid.x + wid.y * groups.x) * 64u + lid.x;
  if (i < dims.N) { out[i] = pack2x16float(vec2f(b[i], 0.0)); }
}
