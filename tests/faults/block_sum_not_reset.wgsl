// fault: does not reset the sum of a block of 16 between blocks
// declares: b=f32
// shapes: 17x33x65
// must fail: uniform by max_abs, mean_rel, conformance
// must fail: positive by max_abs, mean_rel, conformance
// must fail: integer by exact
// because: the first block is counted three times
// passes at: 17x16x65

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

@compute @workgroup_size(8, 8)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let tiles_n = (dims.N + 7u) / 8u;
  let tile = wid.x + wid.y * groups.x;
  let m = (tile / tiles_n) * 8u + lid.y;
  let n = (tile % tiles_n) * 8u + lid.x;
  if (m >= dims.M || n >= dims.N) { return; }
  // naga does this to a loop's own `var part: f32;`: it is zeroed once, not in every round.
  var sum = 0.0;
  var part = 0.0;
  for (var k0 = 0u; k0 < dims.K; k0 += 16u) {
    let k1 = min(k0 + 16u, dims.K);
    for (var k = k0; k < k1; k++) { part += a[m * dims.K + k] * b[k * dims.N + n]; }
    sum += part;
  }
  c[m * dims.N + n] = sum;
}
