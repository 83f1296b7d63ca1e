// fault: clamps partial sums of an f16-storage path to the range of f16
// declares: b=f16-packed
// shapes: 16x256x64
// must fail: overflow by conformance
// says: clamped at 65504
// because: finite operands whose sum passes 65504
// passes: uniform, positive

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

fn weight(k: u32, n: u32) -> f32 {
  return unpack2x16float(b[k * ((dims.N + 1u) / 2u) + n / 2u])[n % 2u];
}

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
  for (var k = 0u; k < dims.K; k++) { sum += a[m * dims.K + k] * weight(k, n); sum = clamp(sum, -65504.0, 65504.0); }
  c[m * dims.N + n] = sum;
}
