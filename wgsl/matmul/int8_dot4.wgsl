// C[M,N] = A[M,K] · B[K,N] with both stored as int8, products and sums in i32, scaled at the end.
//
// Tile, main: 64x64 of C per workgroup of 128 threads; a thread holds 8 rows x 4 columns in
// registers. K is walked 16 at a time, four int8 to a word, both operands staged in workgroup memory.
// Tile, matvec (M <= 8): all ROWS rows x 32 columns per workgroup of 128 threads: 8 lanes of 4
// columns, each in 16 slices of K.
// Layout: wgsl/README.md, int8-packed: A in words along its rows with a scale per row, B in words
// along its columns with a scale per column. Bytes past K are 0, words past K are never used.
// Numerics: i32 sums are exact up to K = 133,144 (127 * 127 * K < 2^31); then C = f32(sum) *
// scale of the row * scale of the column, three roundings at most.
// Source: WGSL's core built-in dot4I8Packed; vector-wise int8 products as in LLM.int8() (Dettmers et
// al. 2022).

@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
//!include common/dims.wgsl

// A word of A: four k.
alias Activation = u32;
alias Sums = vec4i;

// One row's four k times four columns'.
fn product(x: u32, v: vec4u) -> vec4i {
  return vec4i(
    dot4I8Packed(x, v.x), dot4I8Packed(x, v.y), dot4I8Packed(x, v.z), dot4I8Packed(x, v.w)
  );
}

fn row_scale(m: u32) -> f32 { return bitcast<f32>(a[dims.M * ((dims.K + 3u) / 4u) + m]); }

fn column_scale(n: u32) -> f32 { return bitcast<f32>(b[dims.N * ((dims.K + 3u) / 4u) + n]); }

fn result(sum: i32, m: u32, n: u32) -> f32 { return f32(sum) * row_scale(m) * column_scale(n); }

const TILE_M = 64u;
const TILE_N = 64u;
const WORDS = 4u;
// A[word][4 rows] and B[word][4 columns], each padded so that threads writing neighbouring words use
// different banks.
const A_STRIDE = TILE_M / 4u + 1u;
const B_STRIDE = TILE_N / 4u + 1u;

var<workgroup> tile_a: array<vec4u, WORDS * A_STRIDE>;
var<workgroup> tile_b: array<vec4u, WORDS * B_STRIDE>;

@compute @workgroup_size(16, 8)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let tile = wid.x + wid.y * groups.x;
  //!include common/tile.wgsl
  //!include common/thread.wgsl

  // Threads 0..63 stage four rows of a word of A, threads 64..127 four columns of a word of B. An
  // index past the edge is clamped: past K the value becomes 0, past M or N what is computed from it
  // is never stored.
  let words = (K + 3u) / 4u;
  let stages_a = thread < 64u;
  let aw = thread % WORDS;
  let ag = thread % 64u / WORDS;
  let a_rows = min(vec4u(row0 + ag * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(M - 1u)) * words;
  let bw = thread % 64u / 16u;
  let bg = thread % 16u;
  let b_columns = min(vec4u(col0 + bg * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(N - 1u));
  //!include common/sums_8.wgsl

  for (var w0 = 0u; w0 < words; w0 += WORDS) {
    if (stages_a) {
      let w = min(w0 + aw, words - 1u);
      let v = vec4u(a[a_rows.x + w], a[a_rows.y + w], a[a_rows.z + w], a[a_rows.w + w]);
      tile_a[aw * A_STRIDE + ag] = select(vec4u(), v, w0 + aw < words);
    } else {
      let at = min(w0 + bw, words - 1u) * N;
      let v = vec4u(
        b[at + b_columns.x], b[at + b_columns.y], b[at + b_columns.z], b[at + b_columns.w]
      );
      tile_b[bw * B_STRIDE + bg] = select(vec4u(), v, w0 + bw < words);
    }
    workgroupBarrier();
    if (inside) {
      {
        let i = 0u;
        //!include common/multiply_8x4.wgsl
      }
      {
        let i = 1u;
        //!include common/multiply_8x4.wgsl
      }
      {
        let i = 2u;
        //!include common/multiply_8x4.wgsl
      }
      {
        let i = 3u;
        //!include common/multiply_8x4.wgsl
      }
    }
    workgroupBarrier();
  }

  if (!inside) { return; }
  let scale = vec4f(
    column_scale(col),
    column_scale(min(col + 1u, N - 1u)),
    column_scale(min(col + 2u, N - 1u)),
    column_scale(min(col + 3u, N - 1u)),
  );
  for (var r = 0u; r < 8u; r++) {
    //!include common/row_of_sums.wgsl
    let m = row + r % 4u + r / 4u * 32u;
    if (m < M) {
      let n = col;
      let values = vec4f(v) * row_scale(m) * scale;
      //!include common/store_4.wgsl
    }
  }
}

//!include common/split_k.wgsl

@compute @workgroup_size(THREADS)
fn matvec(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  // Here k and K count words.
  let K = (dims.K + 3u) / 4u;
  let N = dims.N;
  let col0 = (wid.x + wid.y * groups.x) * 4u * LANES;
  if (col0 >= N) { return; }

  let lane = thread % LANES;
  let slice = thread / LANES;
  let at = min(vec4u(col0 + lane * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(N - 1u));
  //!include common/sums_8.wgsl

  for (var k = slice; k < K; k += SLICES) {
    let v = vec4u(b[k * N + at.x], b[k * N + at.y], b[k * N + at.z], b[k * N + at.w]);
    //!include common/matvec_rows.wgsl
  }
  //!include common/matvec_reduce.wgsl
}
