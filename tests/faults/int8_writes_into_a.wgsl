// fault: writes into the padding of the packed A
// declares: a=int8-packed, b=int8-packed, accumulate=i32, access=read_write
// shapes: 17x33x65
// must fail: integer by inputs
// must fail: cancel by inputs
// says: changed an input: A
// because: the packed A is compared with what its packer left there;
//     B's padding is 0, so that no result changes

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
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
  for (var w = 0u; w < words; w++) { sum += dot4I8Packed(a[m * words + w], b[w * dims.N + n]); }
  let row = bitcast<f32>(a[dims.M * words + m]);
  a[m * words + words - 1u] |= 0x01000000u;
  c[m * dims.N + n] = f32(sum) * row * bitcast<f32>(b[words * dims.N + n]);
}
