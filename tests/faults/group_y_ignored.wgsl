// fault: takes the workgroup's number from x alone
// declares: b=f32
// shapes: 1x1x524281
// must fail: uniform by written
// says: never written at [0,524280]
// because: 65536 tiles need a second row of workgroups; at fewer, the later runs ask for one too

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
  let tile = wid.x;
  let m = (tile / tiles_n) * 8u + lid.y;
  let n = (tile % tiles_n) * 8u + lid.x;
  if (m >= dims.M || n >= dims.N) { return; }
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) { sum += a[m * dims.K + k] * b[k * dims.N + n]; }
  c[m * dims.N + n] = sum;
}
