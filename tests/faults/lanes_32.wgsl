// fault: takes a subgroup to be 32 lanes
// declares: b=f32, tile=1x1, requires=subgroups
// shapes: 17x33x65
// must fail: uniform by max_abs, mean_rel, conformance
// must fail: positive by max_abs, mean_rel, conformance
// must fail: integer by exact
// must fail: identity by exact
// because: with 8 or 4 lanes the first subgroup has a part of K only
// adapters: fewer than 32 lanes

enable subgroups;

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

@compute @workgroup_size(32)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let tile = wid.x + wid.y * groups.x;
  let m = tile / dims.N;
  let n = tile % dims.N;
  if (m >= dims.M) { return; }
  var mine = 0.0;
  for (var k = lane; k < dims.K; k += 32u) { mine += a[m * dims.K + k] * b[k * dims.N + n]; }
  let sum = subgroupAdd(mine);
  if (lane == 0u) { c[m * dims.N + n] = sum; }
}
