// fault: C = beta C + A·B with beta = 0, and beta times the old C is computed
// declares: b=f32
// shapes: 17x33x65
// must fail: uniform by old C, max_abs, mean_rel
// must fail: integer by old C, exact
// says: outputs read C before writing it at [0,0]
// because: zero times the NaN that C holds is NaN; over a finite marker the result is right

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
  let beta = f32(dims.pad);
  let at = m * dims.N + n;
  c[at] = beta * c[at] + sum;
}
