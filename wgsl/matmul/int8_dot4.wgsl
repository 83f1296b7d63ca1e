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
//
// Registers are named vectors and not an array, because a compiler that does not unroll keeps an
// indexed array in memory. The stores share a loop because lavapipe expands each memory access in
// the text for every lane, and that is its compile time.

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

const TILE_M = 64u;
const TILE_N = 64u;
const WORDS = 4u;
// A[word][4 rows] and B[word][4 columns], each padded so that threads writing neighbouring words use
// different banks.
const A_STRIDE = TILE_M / 4u + 1u;
const B_STRIDE = TILE_N / 4u + 1u;

var<workgroup> tile_a: array<vec4u, WORDS * A_STRIDE>;
var<workgroup> tile_b: array<vec4u, WORDS * B_STRIDE>;

// One row's four k against four columns'.
fn dot4(x: u32, y: vec4u) -> vec4i {
  return vec4i(
    dot4I8Packed(x, y.x), dot4I8Packed(x, y.y), dot4I8Packed(x, y.z), dot4I8Packed(x, y.w)
  );
}

@compute @workgroup_size(16, 8)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let M = dims.M;
  let N = dims.N;
  let words = (dims.K + 3u) / 4u;
  let tiles_n = (N + TILE_N - 1u) / TILE_N;
  let tile = wid.x + wid.y * groups.x;
  let row0 = (tile / tiles_n) * TILE_M;
  let col0 = (tile % tiles_n) * TILE_N;
  if (row0 >= M) { return; }

  // This thread's rows are row + 0..3 and row + 32..35, its columns col + 0..3.
  let row = row0 + lid.y * 4u;
  let col = col0 + lid.x * 4u;

  // Threads 0..63 stage four rows of a word of A, threads 64..127 four columns of a word of B. An
  // index past the edge is moved to the edge: past K the value becomes 0, past M or N what is
  // computed from it is never stored.
  let stages_a = thread < 64u;
  let aw = thread % WORDS;
  let ag = thread % 64u / WORDS;
  let r = row0 + ag * 4u;
  let r0 = min(r, M - 1u) * words;
  let r1 = min(r + 1u, M - 1u) * words;
  let r2 = min(r + 2u, M - 1u) * words;
  let r3 = min(r + 3u, M - 1u) * words;
  let bw = thread % 64u / 16u;
  let bg = thread % 16u;
  let n = col0 + bg * 4u;
  let n0 = min(n, N - 1u);
  let n1 = min(n + 1u, N - 1u);
  let n2 = min(n + 2u, N - 1u);
  let n3 = min(n + 3u, N - 1u);

  var s0 = vec4i();
  var s1 = vec4i();
  var s2 = vec4i();
  var s3 = vec4i();
  var s4 = vec4i();
  var s5 = vec4i();
  var s6 = vec4i();
  var s7 = vec4i();

  for (var w0 = 0u; w0 < words; w0 += WORDS) {
    if (stages_a) {
      let w = min(w0 + aw, words - 1u);
      let v = vec4u(a[r0 + w], a[r1 + w], a[r2 + w], a[r3 + w]);
      tile_a[aw * A_STRIDE + ag] = select(vec4u(), v, w0 + aw < words);
    } else {
      let at = min(w0 + bw, words - 1u) * N;
      let v = vec4u(b[at + n0], b[at + n1], b[at + n2], b[at + n3]);
      tile_b[bw * B_STRIDE + bg] = select(vec4u(), v, w0 + bw < words);
    }
    workgroupBarrier();
    if (row < M && col < N) {
      let b0 = tile_b[0u * B_STRIDE + lid.x];
      let l0 = tile_a[0u * A_STRIDE + lid.y];
      let h0 = tile_a[0u * A_STRIDE + lid.y + 8u];
      s0 += dot4(l0.x, b0);
      s1 += dot4(l0.y, b0);
      s2 += dot4(l0.z, b0);
      s3 += dot4(l0.w, b0);
      s4 += dot4(h0.x, b0);
      s5 += dot4(h0.y, b0);
      s6 += dot4(h0.z, b0);
      s7 += dot4(h0.w, b0);
      let b1 = tile_b[1u * B_STRIDE + lid.x];
      let l1 = tile_a[1u * A_STRIDE + lid.y];
      let h1 = tile_a[1u * A_STRIDE + lid.y + 8u];
      s0 += dot4(l1.x, b1);
      s1 += dot4(l1.y, b1);
      s2 += dot4(l1.z, b1);
      s3 += dot4(l1.w, b1);
      s4 += dot4(h1.x, b1);
      s5 += dot4(h1.y, b1);
      s6 += dot4(h1.z, b1);
      s7 += dot4(h1.w, b1);
      let b2 = tile_b[2u * B_STRIDE + lid.x];
      let l2 = tile_a[2u * A_STRIDE + lid.y];
      let h2 = tile_a[2u * A_STRIDE + lid.y + 8u];
      s0 += dot4(l2.x, b2);
      s1 += dot4(l2.y, b2);
      s2 += dot4(l2.z, b2);
      s3 += dot4(l2.w, b2);
      s4 += dot4(h2.x, b2);
      s5 += dot4(h2.y, b2);
      s6 += dot4(h2.z, b2);
      s7 += dot4(h2.w, b2);
      let b3 = tile_b[3u * B_STRIDE + lid.x];
      let l3 = tile_a[3u * A_STRIDE + lid.y];
      let h3 = tile_a[3u * A_STRIDE + lid.y + 8u];
      s0 += dot4(l3.x, b3);
      s1 += dot4(l3.y, b3);
      s2 += dot4(l3.z, b3);
      s3 += dot4(l3.w, b3);
      s4 += dot4(h3.x, b3);
      s5 += dot4(h3.y, b3);
      s6 += dot4(h3.z, b3);
      s7 += dot4(h3.w, b3);
    }
    workgroupBarrier();
  }

  if (row >= M || col >= N) { return; }
  let scales_a = M * words;
  let scales_b = N * words;
  let scale = vec4f(
    bitcast<f32>(b[scales_b + col]),
    bitcast<f32>(b[scales_b + min(col + 1u, N - 1u)]),
    bitcast<f32>(b[scales_b + min(col + 2u, N - 1u)]),
    bitcast<f32>(b[scales_b + min(col + 3u, N - 1u)]),
  );
  for (var i = 0u; i < 8u; i++) {
    var v = s0;
    if (i == 1u) { v = s1; }
    if (i == 2u) { v = s2; }
    if (i == 3u) { v = s3; }
    if (i == 4u) { v = s4; }
    if (i == 5u) { v = s5; }
    if (i == 6u) { v = s6; }
    if (i == 7u) { v = s7; }
    let m = row + i % 4u + i / 4u * 32u;
    if (m < M) {
      let scaled = vec4f(v) * bitcast<f32>(a[scales_a + m]) * scale;
      let at = m * N + col;
      c[at] = scaled.x;
      if (col + 1u < N) { c[at + 1u] = scaled.y; }
      if (col + 2u < N) { c[at + 2u] = scaled.z; }
      if (col + 3u < N) { c[at + 3u] = scaled.w; }
    }
  }
}

// The number of rows is a constant of the pipeline, so that rows that are not there cost nothing.
override ROWS: u32;

const LANES = 8u;
const SLICES = 16u;
const THREADS = LANES * SLICES;

var<workgroup> partial: array<vec4i, 8u * THREADS>;

@compute @workgroup_size(THREADS)
fn matvec(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let N = dims.N;
  let words = (dims.K + 3u) / 4u;
  let col0 = (wid.x + wid.y * groups.x) * 4u * LANES;
  if (col0 >= N) { return; }

  let lane = thread % LANES;
  let slice = thread / LANES;
  let own = slice * LANES + lane;
  let n0 = min(col0 + lane * 4u, N - 1u);
  let n1 = min(col0 + lane * 4u + 1u, N - 1u);
  let n2 = min(col0 + lane * 4u + 2u, N - 1u);
  let n3 = min(col0 + lane * 4u + 3u, N - 1u);

  var s0 = vec4i();
  var s1 = vec4i();
  var s2 = vec4i();
  var s3 = vec4i();
  var s4 = vec4i();
  var s5 = vec4i();
  var s6 = vec4i();
  var s7 = vec4i();

  for (var w = slice; w < words; w += SLICES) {
    let at = w * N;
    let v = vec4u(b[at + n0], b[at + n1], b[at + n2], b[at + n3]);
    s0 += dot4(a[w], v);
    if (ROWS > 1u) { s1 += dot4(a[words + w], v); }
    if (ROWS > 2u) { s2 += dot4(a[2u * words + w], v); }
    if (ROWS > 3u) { s3 += dot4(a[3u * words + w], v); }
    if (ROWS > 4u) { s4 += dot4(a[4u * words + w], v); }
    if (ROWS > 5u) { s5 += dot4(a[5u * words + w], v); }
    if (ROWS > 6u) { s6 += dot4(a[6u * words + w], v); }
    if (ROWS > 7u) { s7 += dot4(a[7u * words + w], v); }
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
    let m = i / (4u * LANES);
    let x = i / LANES % 4u;
    let n = col0 + i % LANES * 4u + x;
    if (n < N) {
      var sum = 0;
      for (var y = 0u; y < SLICES; y++) { sum += partial[m * THREADS + y * LANES + i % LANES][x]; }
      let row = bitcast<f32>(a[dims.M * words + m]);
      c[m * N + n] = f32(sum) * row * bitcast<f32>(b[N * words + n]);
    }
  }
}
