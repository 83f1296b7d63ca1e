// fault: leaves one of 16 lanes out of the final sum
// declares: b=f32, tile=1x4
// shapes: 17x33x65
// must fail: uniform by max_abs, mean_rel, conformance
// must fail: positive by max_abs, mean_rel, conformance
// must fail: integer by exact
// because: the lane's two or three terms are missing everywhere

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(16, 4)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let tiles_n = (dims.N + 3u) / 4u;
  let tile = wid.x + wid.y * groups.x;
  let m = tile / tiles_n;
  let n = (tile % tiles_n) * 4u + lid.y;
  if (m >= dims.M) { return; }
  let column = min(n, dims.N - 1u);
  var mine = 0.0;
  for (var k = lid.x; k < dims.K; k += 16u) { mine += a[m * dims.K + k] * b[k * dims.N + column]; }
  sums[lid.y * 16u + lid.x] = mine;
  workgroupBarrier();
  if (lid.x != 0u || n >= dims.N) { return; }
  var sum = 0.0;
  for (var i = 0u; i < 16u; i++) {
    if (i != 7u) { sum += sums[lid.y * 16u + i]; }
  }
  c[m * dims.N + n] = sum;
}
