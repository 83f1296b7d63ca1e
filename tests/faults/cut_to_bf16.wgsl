// fault: cuts both operands to bf16 and declares f32
// declares: b=f32
// shapes: 17x64x65
// must fail: uniform by max_abs, mean_rel, conformance
// must fail: integer by exact
// must fail: identity by exact
// because: 8 significant bits are under f16's 11

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

fn cut(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xffff0000u); }

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
  for (var k = 0u; k < dims.K; k++) { sum += cut(a[m * dims.K + k]) * cut(b[k * dims.N + n]); }
  c[m * dims.N + n] = sum;
}
