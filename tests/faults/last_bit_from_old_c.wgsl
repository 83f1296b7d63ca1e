// fault: takes the last bit of its result from what C held
// declares: b=f32
// shapes: 17x33x65
// must fail: uniform by old C
// must fail: positive by old C
// says: read C before writing it
// because: far under every limit, but two runs start from different markers and must agree bit for
//     bit

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
  let at = m * dims.N + n;
  let old = bitcast<u32>(c[at]) >> 31u;
  c[at] = bitcast<f32>(bitcast<u32>(sum) ^ old);
}
