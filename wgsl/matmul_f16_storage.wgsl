// C[M,N] = A[M,K] · B[K,N] with B stored as packed f16 and everything computed in f32.
//
// Tile: 64x64 of C per workgroup of 128 threads; a thread holds 8 rows x 4 columns in registers.
// Layout: wgsl/README.md. A is row-major f32, B is f16-packed (pairs along N, low half first).
// Numerics: f32 products, f32 sums; K in blocks of 16, each summed from zero, then added.
// Source: register blocking as in any BLAS micro-kernel; no workgroup memory, because a barrier
// costs a CPU adapter more than it saves and a GPU's caches hold the tile.

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

const ROWS = 8u;
const COLS = 4u;
const BLOCK = 16u;

@compute @workgroup_size(16, 8)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let tiles_n = (dims.N + 63u) / 64u;
  let tile = wid.x + wid.y * groups.x;
  let row = (tile / tiles_n) * 64u + lid.y * ROWS;
  let col = (tile % tiles_n) * 64u + lid.x * COLS;
  if (row >= dims.M || col >= dims.N) { return; }

  // Rows and columns past the edge read the last valid one and are not stored.
  var at: array<u32, 8>;
  for (var r = 0u; r < ROWS; r++) { at[r] = min(row + r, dims.M - 1u) * dims.K; }
  let stride = (dims.N + 1u) / 2u;
  let w0 = col / 2u;
  let w1 = min(w0 + 1u, stride - 1u);

  var sum: array<vec4f, 8>;
  for (var k0 = 0u; k0 < dims.K; k0 += BLOCK) {
    var part: array<vec4f, 8>;
    let k1 = min(k0 + BLOCK, dims.K);
    for (var k = k0; k < k1; k++) {
      let bk = k * stride;
      let bv = vec4f(unpack2x16float(b[bk + w0]), unpack2x16float(b[bk + w1]));
      for (var r = 0u; r < ROWS; r++) { part[r] += a[at[r] + k] * bv; }
    }
    for (var r = 0u; r < ROWS; r++) { sum[r] += part[r]; }
  }

  for (var r = 0u; r < ROWS; r++) {
    if (row + r < dims.M) {
      for (var j = 0u; j < COLS; j++) {
        if (col + j < dims.N) { c[(row + r) * dims.N + col + j] = sum[r][j]; }
      }
    }
  }
}
