// fault: takes the bytes of B for unsigned
// declares: a=int8-packed, b=int8-packed, accumulate=i32
// shapes: 17x33x65 3x257x129 1x64x9
// must fail: integer by exact
// must fail: identity by exact
// must fail: outlier by conformance
// must fail: cancel by conformance
// because: -1 counts as 255

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
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
  let words = (dims.K + 3u) / 4u;
  var sum = 0;
  for (var w = 0u; w < words; w++) {
    sum += dot(unpack4xI8(a[m * words + w]), vec4i(unpack4xU8(b[w * dims.N + n])));
  }
  let row = bitcast<f32>(a[dims.M * words + m]);
  c[m * dims.N + n] = f32(sum) * row * bitcast<f32>(b[words * dims.N + n]);
}
