// fault: multiplies in f16 and declares f32 products
// declares: b=f16-packed, requires=shader-f16
// shapes: 17x33x65 4x1024x64
// must fail: uniform by conformance
// must fail: positive by conformance
// must fail: integer by exact
// must fail: identity by exact|finite
// because: an f16 product is far off the product of what is stored, measured against
//     sqrt((A∘A)(B∘B)); the activation check takes it for the noise of f16 weights
// over: 4

enable f16;

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<vec2<f16>>;
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
  let stride = (dims.N + 1u) / 2u;
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) {
    sum += f32(f16(a[m * dims.K + k]) * b[k * stride + n / 2u][n % 2u]);
  }
  c[m * dims.N + n] = f32(sum);
}
