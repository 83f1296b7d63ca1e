// right: C = A·B, K split over the lanes of a subgroup, however many they are
// declares: b=f32, tile=1x1, requires=subgroups
// because: the lanes add up in subgroups, the subgroups in workgroup memory

enable subgroups;

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

var<workgroup> sums: array<f32, 32>;

@compute @workgroup_size(32)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(subgroup_invocation_id) in_subgroup: u32,
) {
  let tile = wid.x + wid.y * groups.x;
  let m = tile / dims.N;
  let n = tile % dims.N;
  if (m >= dims.M) { return; }
  var mine = 0.0;
  for (var k = lane; k < dims.K; k += 32u) { mine += a[m * dims.K + k] * b[k * dims.N + n]; }
  let sum = subgroupAdd(mine);
  // Lanes of a subgroup write the same sum, and each is added once per subgroup below.
  sums[lane] = select(0.0, sum, in_subgroup == 0u);
  workgroupBarrier();
  if (lane != 0u) { return; }
  var total = 0.0;
  for (var i = 0u; i < 32u; i++) { total += sums[i]; }
  c[m * dims.N + n] = total;
}
