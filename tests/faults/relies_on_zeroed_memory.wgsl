// fault: adds to workgroup memory that it never set, as WGSL allows
// declares: b=f32
// shapes: 17x33x65
// must fail: uniform by max_abs|mean_rel|conformance|determinism|finite
// must fail: integer by exact|determinism|finite
// because: right where workgroup memory starts at zero; elsewhere a group adds to what the one
//     before it left there
// adapters: workgroup memory not zeroed

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

var<workgroup> sums: array<f32, 64>;

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
  let mine = lid.y * 8u + lid.x;
  for (var k = 0u; k < dims.K; k++) { sums[mine] += a[m * dims.K + k] * b[k * dims.N + n]; }
  c[m * dims.N + n] = sums[mine];
}
