// C[M,N] = A[M,K] · B[K,N], one output per thread: the yardstick, no path of tinygate.
//
// Tile: 8x8 of C per workgroup of 64 threads; a thread walks K once and keeps one running sum.
// Layout: wgsl/README.md. A and B are row-major f32.
// Numerics: f32 products, one f32 sum from k = 0 to K - 1.
// Source: the definition of a matrix product.

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
  let M = dims.M;
  let K = dims.K;
  let N = dims.N;
  let tiles_n = (N + 7u) / 8u;
  let tile = wid.x + wid.y * groups.x;
  let row = (tile / tiles_n) * 8u + lid.y;
  let col = (tile % tiles_n) * 8u + lid.x;
  if (row >= M || col >= N) { return; }
  var sum = 0.0;
  for (var k = 0u; k < K; k++) { sum += a[row * K + k] * b[k * N + col]; }
  c[row * N + col] = sum;
}
