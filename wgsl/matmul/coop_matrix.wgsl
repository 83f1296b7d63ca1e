// C[M,N] = A[M,K] · B[K,N] by subgroup matrices: f16 in, f32 sums. B is stored as packed f16.
//
// Tile, main: 64x64 of C per workgroup of 128 threads, that is as many subgroups as fit into it. K
// is walked 32 at a time; A, rounded to f16, and B are staged in workgroup memory with zeros past
// every edge, so that any M, K and N runs on whole matrices. Each subgroup owns OWN of the tile's
// matrices for all of K.
// Tile, matvec (M <= 8): as in matmul_f16_storage.wgsl; a matrix unit has nothing to gain there.
// Layout: wgsl/README.md. A is row-major f32, B is f16-packed (pairs along N, low half first).
// Numerics: A is rounded to f16 inside. Products and sums within a matrix are the hardware's: f32,
// in an order and with a rounding of its own. matvec: f32 products, f32 sums.
// Source: the matrix units' own programming model (a warp or subgroup multiplies small tiles that
// it holds together, as in CUDA's WMMA), in Dawn's experimental subgroup matrices.
//
// Total, MATRIX_M, MATRIX_N, MATRIX_K and SUBGROUP below are replaced by one of the adapter's own
// configurations and its measured subgroup size: types take no override constant. Tint only.

enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;

alias Total = f32;
const MATRIX_M = 8u;
const MATRIX_N = 8u;
const MATRIX_K = 8u;
const SUBGROUP = 8u;

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

const TILE = 64u;
const BLOCK = 32u;
const GROUP = 128u;
const PER_ROW = TILE / MATRIX_N;
const MATRICES = TILE / MATRIX_M * PER_ROW;
const SUBGROUPS = GROUP / SUBGROUP;
const OWN = (MATRICES + SUBGROUPS - 1u) / SUBGROUPS;

alias Left = subgroup_matrix_left<f16, MATRIX_K, MATRIX_M>;
alias Right = subgroup_matrix_right<f16, MATRIX_N, MATRIX_K>;
alias Sum = subgroup_matrix_result<Total, MATRIX_N, MATRIX_M>;

var<workgroup> tile_a: array<f16, TILE * BLOCK>;
var<workgroup> tile_b: array<f16, BLOCK * TILE>;
var<workgroup> tile_c: array<Total, TILE * TILE>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let M = dims.M;
  let K = dims.K;
  let N = dims.N;
  let tiles_n = (N + TILE - 1u) / TILE;
  let tile = wid.x + wid.y * groups.x;
  let row0 = (tile / tiles_n) * TILE;
  let col0 = (tile % tiles_n) * TILE;
  if (row0 >= M) { return; }

  let stride = (N + 1u) / 2u;

  var sums: array<Sum, OWN>;
  for (var i = 0u; i < OWN; i++) { sums[i] = Sum(); }

  for (var k0 = 0u; k0 < K; k0 += BLOCK) {
    // Four rows of A and of B a round, for the count of rounds that llvmpipe keeps.
    for (var i = thread; i < TILE * BLOCK / 4u; i += GROUP) {
      let k = k0 + i % BLOCK;
      let ka = min(k, K - 1u);
      let r = i / BLOCK * 4u;
      let v = vec4f(
        a[min(row0 + r, M - 1u) * K + ka],
        a[min(row0 + r + 1u, M - 1u) * K + ka],
        a[min(row0 + r + 2u, M - 1u) * K + ka],
        a[min(row0 + r + 3u, M - 1u) * K + ka],
      );
      let half = vec4<f16>(select(vec4f(), v, k < K));
      tile_a[r * BLOCK + i % BLOCK] = half.x;
      tile_a[(r + 1u) * BLOCK + i % BLOCK] = half.y;
      tile_a[(r + 2u) * BLOCK + i % BLOCK] = half.z;
      tile_a[(r + 3u) * BLOCK + i % BLOCK] = half.w;
    }
    for (var i = thread; i < BLOCK * TILE / 8u; i += GROUP) {
      let word = i % (TILE / 2u);
      let w = min(col0 / 2u + word, stride - 1u);
      for (var y = 0u; y < 4u; y++) {
        let r = i / (TILE / 2u) * 4u + y;
        let k = k0 + r;
        let pair = bitcast<vec2<f16>>(b[min(k, K - 1u) * stride + w]);
        let live = k < K;
        tile_b[r * TILE + word * 2u] = select(0h, pair.x, live);
        tile_b[r * TILE + word * 2u + 1u] = select(0h, pair.y, live);
      }
    }
    workgroupBarrier();
    for (var k = 0u; k < BLOCK; k += MATRIX_K) {
      for (var i = 0u; i < OWN; i++) {
        let at = (subgroup * OWN + i) % MATRICES;
        let left = subgroupMatrixLoad<Left, row_major>(
          &tile_a, at / PER_ROW * MATRIX_M * BLOCK + k, BLOCK);
        let right = subgroupMatrixLoad<Right, row_major>(
          &tile_b, k * TILE + at % PER_ROW * MATRIX_N, TILE);
        sums[i] = subgroupMatrixMultiplyAccumulate(left, right, sums[i]);
      }
    }
    workgroupBarrier();
  }

  // More subgroups than matrices: some hold the same one and store the same values.
  for (var i = 0u; i < OWN; i++) {
    let at = (subgroup * OWN + i) % MATRICES;
    subgroupMatrixStore<row_major>(
      &tile_c, at / PER_ROW * MATRIX_M * TILE + at % PER_ROW * MATRIX_N, sums[i], TILE);
  }
  workgroupBarrier();
  for (var i = thread; i < TILE * TILE; i += GROUP) {
    let m = row0 + i / TILE;
    let n = col0 + i % TILE;
    if (m < M && n < N) { c[m * N + n] = f32(tile_c[i]); }
  }
}

// The number of rows is a constant of the pipeline, so that rows that are not there cost nothing.
override ROWS: u32;

const RUN = 16u;
const LANES = 8u;
const SLICES = 16u;
const THREADS = LANES * SLICES;

var<workgroup> partial: array<vec4f, 8u * THREADS>;

@compute @workgroup_size(THREADS)
fn matvec(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let K = dims.K;
  let N = dims.N;
  let col0 = (wid.x + wid.y * groups.x) * 4u * LANES;
  if (col0 >= N) { return; }

  // Threads 0..7 are 2 lanes in each of 4 slices, 0..31 all 8 lanes: 8 neighbours read 4 lines.
  let lane = thread % 2u + thread / 8u % 4u * 2u;
  let slice = thread / 2u % 4u + thread / 32u * 4u;
  let own = slice * LANES + lane;

  let stride = (N + 1u) / 2u;
  let w0 = min(col0 / 2u + lane * 2u, stride - 1u);
  let w1 = min(col0 / 2u + lane * 2u + 1u, stride - 1u);

  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  var s4 = vec4f();
  var s5 = vec4f();
  var s6 = vec4f();
  var s7 = vec4f();

  for (var k0 = slice * RUN; k0 < K; k0 += SLICES * RUN) {
    let k1 = min(k0 + RUN, K);
    for (var k = k0; k < k1; k++) {
      let at = k * stride;
      let v = vec4f(unpack2x16float(b[at + w0]), unpack2x16float(b[at + w1]));
      s0 += a[k] * v;
      if (ROWS > 1u) { s1 += a[K + k] * v; }
      if (ROWS > 2u) { s2 += a[2u * K + k] * v; }
      if (ROWS > 3u) { s3 += a[3u * K + k] * v; }
      if (ROWS > 4u) { s4 += a[4u * K + k] * v; }
      if (ROWS > 5u) { s5 += a[5u * K + k] * v; }
      if (ROWS > 6u) { s6 += a[6u * K + k] * v; }
      if (ROWS > 7u) { s7 += a[7u * K + k] * v; }
    }
  }

  partial[own] = s0;
  if (ROWS > 1u) { partial[THREADS + own] = s1; }
  if (ROWS > 2u) { partial[2u * THREADS + own] = s2; }
  if (ROWS > 3u) { partial[3u * THREADS + own] = s3; }
  if (ROWS > 4u) { partial[4u * THREADS + own] = s4; }
  if (ROWS > 5u) { partial[5u * THREADS + own] = s5; }
  if (ROWS > 6u) { partial[6u * THREADS + own] = s6; }
  if (ROWS > 7u) { partial[7u * THREADS + own] = s7; }
  workgroupBarrier();

  for (var i = thread; i < ROWS * 4u * LANES; i += THREADS) {
    let r = i / (4u * LANES);
    let x = i / LANES % 4u;
    let n = col0 + i % LANES * 4u + x;
    if (n < N) {
      var sum = 0.0;
      for (var y = 0u; y < SLICES; y++) { sum += partial[r * THREADS + y * LANES + i % LANES][x]; }
      c[r * N + n] = sum;
    }
  }
}
