// right: C = A·B with B as 4-bit blocks, each code multiplied before it is scaled
// declares: b=q4-block32
// because: no product of an activation and a code may be larger than f32 holds

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
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
  let blocks = (dims.K + 31u) / 32u;
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) {
    let code = (b[k / 8u * dims.N + n] >> (k % 8u * 4u)) & 15u;
    let scale = bitcast<f32>(b[(4u * blocks + k / 32u) * dims.N + n]);
    let zero = bitcast<f32>(b[(5u * blocks + k / 32u) * dims.N + n]);
    sum += a[m * dims.K + k] * (f32(code) - zero) * scale;
  }
  c[m * dims.N + n] = sum;
}
