// fault: adds to what C held
// declares: b=f32
// shapes: 17x33x65
// must fail: uniform by old C, max_abs, mean_rel
// must fail: positive by old C, max_abs, mean_rel
// says: outputs read C before writing it at [0,0]
// because: C holds a NaN in one run, which an adapter may or may not keep bit for bit, and a finite
//     marker in another

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
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) { sum += a[m * dims.K + k] * b[k * dims.N + n]; }
  c[m * dims.N + n] += sum;
}
