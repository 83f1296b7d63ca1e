// fault: takes A's value from the next lane, and the last lane's from the first
// declares: b=f32, tile=1x128, requires=subgroups
// shapes: 17x33x65 4x64x64
// must fail: uniform by max_abs, mean_rel, conformance
// must fail: positive by max_abs, mean_rel, conformance
// must fail: integer by exact
// must fail: identity by exact
// because: A's k and B's k are not the same

enable subgroups;

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

@compute @workgroup_size(128)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  let tiles_n = (dims.N + 127u) / 128u;
  let tile = wid.x + wid.y * groups.x;
  let m = tile / tiles_n;
  let n = (tile % tiles_n) * 128u + thread;
  if (m >= dims.M) { return; }
  let lanes = subgroupAdd(1u);
  var sum = 0.0;
  for (var k0 = 0u; k0 < dims.K; k0 += lanes) {
    let own = select(0.0, a[m * dims.K + min(k0 + lane, dims.K - 1u)], k0 + lane < dims.K);
    for (var j = 0u; j < lanes; j++) {
      let at = min(k0 + j, dims.K - 1u) * dims.N + min(n, dims.N - 1u);
      sum += subgroupShuffle(own, (j + 1u) % lanes) * b[at];
    }
  }
  if (n < dims.N) { c[m * dims.N + n] = sum; }
}
