// fault: clamps activations to ±4, but at the edges of blocks of 16 along K
// declares: b=f32
// shapes: 8x4096x256
// must fail: identity by exact
// because: of 512 edges the rounds reach 64, so the picks must hold what is between them, too
// passes: uniform, positive, integer

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
  for (var k = 0u; k < dims.K; k++) {
    var x = a[m * dims.K + k];
    if (k % 16u != 0u && k % 16u != 15u) { x = clamp(x, -4.0, 4.0); }
    sum += x * b[k * dims.N + n];
  }
  c[m * dims.N + n] = sum;
}
