// C[M,N] = A[M,K] · B[K,N] by subgroup matrices: f16 in, f32 sums. B is stored as packed f16.
//
// Tile, main: 64x64 of C per workgroup of 128 threads, that is as many subgroups as fit into it. K
// is walked 32 at a time; A, rounded to f16, and B are staged in workgroup memory with zeros past
// every edge, so that any M, K and N runs on whole matrices. Each subgroup keeps PER_SUBGROUP of the
// tile's matrices for all of K.
// Tile, matvec (M <= 8): as in matmul/f16_storage.wgsl; a matrix unit has nothing to gain there.
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

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
//!include common/dims.wgsl
//!include common/f32_arithmetic.wgsl

fn four_weights(i: u32, j: u32) -> vec4f {
  return vec4f(unpack2x16float(b[i]), unpack2x16float(b[j]));
}

const TILE_M = 64u;
const TILE_N = 64u;
const BLOCK_K = 32u;
const GROUP = 128u;
const PER_ROW = TILE_N / MATRIX_N;
const MATRICES = TILE_M / MATRIX_M * PER_ROW;
const SUBGROUPS = GROUP / SUBGROUP;
const PER_SUBGROUP = (MATRICES + SUBGROUPS - 1u) / SUBGROUPS;

alias LeftMatrix = subgroup_matrix_left<f16, MATRIX_K, MATRIX_M>;
alias RightMatrix = subgroup_matrix_right<f16, MATRIX_N, MATRIX_K>;
alias SumMatrix = subgroup_matrix_result<Total, MATRIX_N, MATRIX_M>;

var<workgroup> tile_a: array<f16, TILE_M * BLOCK_K>;
var<workgroup> tile_b: array<f16, BLOCK_K * TILE_N>;
var<workgroup> tile_c: array<Total, TILE_M * TILE_N>;

@compute @workgroup_size(GROUP)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_id) subgroup: u32,
) {
  let tile = wid.x + wid.y * groups.x;
  //!include common/tile.wgsl

  let stride = (N + 1u) / 2u;

  var sums: array<SumMatrix, PER_SUBGROUP>;
  for (var i = 0u; i < PER_SUBGROUP; i++) { sums[i] = SumMatrix(); }

  for (var k0 = 0u; k0 < K; k0 += BLOCK_K) {
    // Four rows of A and of B per iteration, because llvmpipe ends a loop after 65,535 of them.
    for (var i = thread; i < TILE_M * BLOCK_K / 4u; i += GROUP) {
      let k = k0 + i % BLOCK_K;
      let ka = min(k, K - 1u);
      let r = i / BLOCK_K * 4u;
      let v = vec4f(
        a[min(row0 + r, M - 1u) * K + ka],
        a[min(row0 + r + 1u, M - 1u) * K + ka],
        a[min(row0 + r + 2u, M - 1u) * K + ka],
        a[min(row0 + r + 3u, M - 1u) * K + ka],
      );
      let half = vec4<f16>(select(vec4f(), v, k < K));
      tile_a[r * BLOCK_K + i % BLOCK_K] = half.x;
      tile_a[(r + 1u) * BLOCK_K + i % BLOCK_K] = half.y;
      tile_a[(r + 2u) * BLOCK_K + i % BLOCK_K] = half.z;
      tile_a[(r + 3u) * BLOCK_K + i % BLOCK_K] = half.w;
    }
    for (var i = thread; i < BLOCK_K * TILE_N / 8u; i += GROUP) {
      let word = i % (TILE_N / 2u);
      let w = min(col0 / 2u + word, stride - 1u);
      for (var y = 0u; y < 4u; y++) {
        let r = i / (TILE_N / 2u) * 4u + y;
        let k = k0 + r;
        let pair = bitcast<vec2<f16>>(b[min(k, K - 1u) * stride + w]);
        let live = k < K;
        tile_b[r * TILE_N + word * 2u] = select(0h, pair.x, live);
        tile_b[r * TILE_N + word * 2u + 1u] = select(0h, pair.y, live);
      }
    }
    workgroupBarrier();
    for (var k = 0u; k < BLOCK_K; k += MATRIX_K) {
      for (var i = 0u; i < PER_SUBGROUP; i++) {
        let at = (subgroup * PER_SUBGROUP + i) % MATRICES;
        let left = subgroupMatrixLoad<LeftMatrix, row_major>(
          &tile_a, at / PER_ROW * MATRIX_M * BLOCK_K + k, BLOCK_K);
        let right = subgroupMatrixLoad<RightMatrix, row_major>(
          &tile_b, k * TILE_N + at % PER_ROW * MATRIX_N, TILE_N);
        sums[i] = subgroupMatrixMultiplyAccumulate(left, right, sums[i]);
      }
    }
    workgroupBarrier();
  }

  // More subgroups than matrices: some hold the same one and store the same values.
  for (var i = 0u; i < PER_SUBGROUP; i++) {
    let at = (subgroup * PER_SUBGROUP + i) % MATRICES;
    subgroupMatrixStore<row_major>(
      &tile_c, at / PER_ROW * MATRIX_M * TILE_N + at % PER_ROW * MATRIX_N, sums[i], TILE_N);
  }
  workgroupBarrier();
  for (var i = thread; i < TILE_M * TILE_N; i += GROUP) {
    let m = row0 + i / TILE_N;
    let n = col0 + i % TILE_N;
    if (m < M && n < N) { c[m * N + n] = f32(tile_c[i]); }
  }
}

//!include common/matvec_f16.wgsl
