// fault: keeps its sum from one tile to the next
// declares: b=f32, tile=8x16
// shapes: 17x33x65
// must fail: uniform by max_abs, mean_rel, conformance
// must fail: positive by max_abs, mean_rel, conformance
// must fail: integer by exact
// must fail: identity by exact
// says: column
// because: a workgroup writes two tiles, and the second starts from the first one's sums
// passes at: 17x33x8

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
  let tiles_n = (dims.N + 15u) / 16u;
  let tile = wid.x + wid.y * groups.x;
  let m = (tile / tiles_n) * 8u + lid.y;
  let first = (tile % tiles_n) * 16u + lid.x;
  if (m >= dims.M) { return; }
  var sum = 0.0;
  for (var n = first; n < min(first + 16u, dims.N); n += 8u) {
    for (var k = 0u; k < dims.K; k++) { sum += a[m * dims.K + k] * b[k * dims.N + n]; }
    c[m * dims.N + n] = sum;
  }
}
