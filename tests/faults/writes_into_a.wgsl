// fault: writes into A
// declares: b=f32, access=read_write
// shapes: 17x33x65 1x5x3
// must fail: uniform by inputs
// must fail: positive by inputs
// must fail: integer by inputs
// must fail: identity by inputs
// says: changed an input: A
// because: what lies behind an operand is bound with it and must be unchanged too; no other thread
//     reads it here

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
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
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) { sum += a[m * dims.K + k] * b[k * dims.N + n]; }
  c[m * dims.N + n] = sum;
  if (m == 0u && n == 0u) { a[dims.M * dims.K] = 1.0; }
}
