// fault: writes one NaN
// declares: b=f32
// shapes: 1x64x50257
// must fail: uniform by finite
// must fail: integer by finite, exact
// says: 1 non-finite output at [0,31337]
// because: non-finite is decided by bit pattern; a comparison with NaN would hide it

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
  // The u32 is not a constant, since a compiler may refuse one that is NaN.
  let nan = bitcast<f32>(0x7fc00000u | dims.pad);
  c[m * dims.N + n] = select(sum, nan, n == 31337u);
}
