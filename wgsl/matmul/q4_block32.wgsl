// C[M,N] = A[M,K] · B[K,N] with A as f32 and B as 4-bit codes in blocks of 32 along K.
//
// Tile, main: 64x64 of C per workgroup of 128 threads; a thread holds 8 rows x 4 columns in
// registers. K is walked 16 at a time, both operands staged in workgroup memory, B already as f32.
// Tile, matvec (M <= 8): all ROWS rows x 32 columns per workgroup of 128 threads: 8 lanes of 4
// columns, each in 16 slices of K.
// Layout: wgsl/README.md. A is row-major f32, B is q4-block32. What nibbles past K hold is not used.
// Numerics: a weight is scale * (code - zero), rounded once; f32 products, f32 sums. main adds k = 0
// to K - 1 in order; matvec has 16 running sums per element, each over every 16th word of 8 weights,
// and adds them in order.
// Source: dequantisation in workgroup memory, as in the 4-bit matrix products of llama.cpp and ONNX
// Runtime's MatMulNBits; nothing but core WGSL.
//
// Registers are named vectors and not an array, because a compiler that does not unroll keeps an
// indexed array in memory. The stores share a loop because lavapipe expands each memory access in
// the text for every lane, and that is its compile time.

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

const TILE_M = 64u;
const TILE_N = 64u;
const STEP = 16u;
// Words of a block, and weights of a word.
const BLOCK_WORDS = 4u;
const CODES = 8u;
// A[k][4 rows] and B[k][4 columns], each padded so that threads writing neighbouring k use different
// banks.
const A_STRIDE = TILE_M / 4u + 1u;
const B_STRIDE = TILE_N / 4u + 1u;

var<workgroup> tile_a: array<vec4f, STEP * A_STRIDE>;
var<workgroup> tile_b: array<vec4f, STEP * B_STRIDE>;

// One code of each of four words, as the weights they stand for.
fn weights(words: vec4u, i: u32, zero: vec4f, scale: vec4f) -> vec4f {
  return (vec4f((words >> vec4u(4u * i)) & vec4u(15u)) - zero) * scale;
}

// Four columns of one row of words, scales or zero points.
fn columns(row: u32, n: vec4u) -> vec4u {
  let at = vec4u(row * dims.N) + n;
  return vec4u(b[at.x], b[at.y], b[at.z], b[at.w]);
}

@compute @workgroup_size(16, 8)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let M = dims.M;
  let K = dims.K;
  let N = dims.N;
  let blocks = (K + 31u) / 32u;
  let tiles_n = (N + TILE_N - 1u) / TILE_N;
  let tile = wid.x + wid.y * groups.x;
  let row0 = (tile / tiles_n) * TILE_M;
  let col0 = (tile % tiles_n) * TILE_N;
  if (row0 >= M) { return; }

  // This thread's rows are row + 0..3 and row + 32..35, its columns col + 0..3.
  let row = row0 + lid.y * 4u;
  let col = col0 + lid.x * 4u;
  let inside = row < M && col < N;

  // What this thread stages: column ak of A, 4 rows at a time, and two codes of a word of each of 4
  // columns of B. An index past the edge is moved to the edge: past K the value becomes 0, past M or
  // N what is computed from it is never stored.
  let ak = thread % STEP;
  let groups_m = min(TILE_M / 4u, (M - row0 + 3u) / 4u);
  let bg = thread % 16u;
  let bk = thread / 16u * 2u;
  let n = min(vec4u(col0 + bg * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(N - 1u));

  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  var s4 = vec4f();
  var s5 = vec4f();
  var s6 = vec4f();
  var s7 = vec4f();

  for (var k0 = 0u; k0 < K; k0 += STEP) {
    let ka = min(k0 + ak, K - 1u);
    for (var g = thread / STEP; g < groups_m; g += 8u) {
      let r = row0 + g * 4u;
      let v = vec4f(
        a[r * K + ka],
        a[min(r + 1u, M - 1u) * K + ka],
        a[min(r + 2u, M - 1u) * K + ka],
        a[min(r + 3u, M - 1u) * K + ka],
      );
      tile_a[ak * A_STRIDE + g] = select(vec4f(), v, k0 + ak < K);
    }
    let block = k0 / 32u;
    let words = columns((k0 + bk) / CODES, n);
    let scale = bitcast<vec4f>(columns(BLOCK_WORDS * blocks + block, n));
    let zero = bitcast<vec4f>(columns((BLOCK_WORDS + 1u) * blocks + block, n));
    let even = weights(words, bk % CODES, zero, scale);
    let odd = weights(words, bk % CODES + 1u, zero, scale);
    tile_b[bk * B_STRIDE + bg] = select(vec4f(), even, k0 + bk < K);
    tile_b[(bk + 1u) * B_STRIDE + bg] = select(vec4f(), odd, k0 + bk + 1u < K);
    workgroupBarrier();

    // Two k a round: llvmpipe ends an invocation's loops after 65,535 rounds in all. One k a round
    // would make K = 50257 wrong there; two allow K up to about 90,000.
    for (var k = 0u; k < select(0u, STEP, inside); k += 2u) {
      let b0 = tile_b[(k + 0u) * B_STRIDE + lid.x];
      let l0 = tile_a[(k + 0u) * A_STRIDE + lid.y];
      let h0 = tile_a[(k + 0u) * A_STRIDE + lid.y + 8u];
      s0 += l0.x * b0;
      s1 += l0.y * b0;
      s2 += l0.z * b0;
      s3 += l0.w * b0;
      s4 += h0.x * b0;
      s5 += h0.y * b0;
      s6 += h0.z * b0;
      s7 += h0.w * b0;
      let b1 = tile_b[(k + 1u) * B_STRIDE + lid.x];
      let l1 = tile_a[(k + 1u) * A_STRIDE + lid.y];
      let h1 = tile_a[(k + 1u) * A_STRIDE + lid.y + 8u];
      s0 += l1.x * b1;
      s1 += l1.y * b1;
      s2 += l1.z * b1;
      s3 += l1.w * b1;
      s4 += h1.x * b1;
      s5 += h1.y * b1;
      s6 += h1.z * b1;
      s7 += h1.w * b1;
    }
    workgroupBarrier();
  }

  if (!inside) { return; }
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
    let at = m * N + col;
    if (m < M) {
      c[at] = v.x;
      if (col + 1u < N) { c[at + 1u] = v.y; }
      if (col + 2u < N) { c[at + 2u] = v.z; }
      if (col + 3u < N) { c[at + 3u] = v.w; }
    }
  }
}

// The number of rows is a constant of the pipeline, so that rows that are not there cost nothing.
override ROWS: u32;

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
  let blocks = (K + 31u) / 32u;
  let col0 = (wid.x + wid.y * groups.x) * 4u * LANES;
  if (col0 >= N) { return; }

  let lane = thread % LANES;
  let slice = thread / LANES;
  let own = slice * LANES + lane;
  let n = min(vec4u(col0 + lane * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(N - 1u));

  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  var s4 = vec4f();
  var s5 = vec4f();
  var s6 = vec4f();
  var s7 = vec4f();

  for (var w = slice; w * CODES < K; w += SLICES) {
    let words = columns(w, n);
    let block = w / BLOCK_WORDS;
    let scale = bitcast<vec4f>(columns(BLOCK_WORDS * blocks + block, n));
    let zero = bitcast<vec4f>(columns((BLOCK_WORDS + 1u) * blocks + block, n));
    let codes = min(CODES, K - w * CODES);
    for (var i = 0u; i < codes; i++) {
      let k = w * CODES + i;
      let v = weights(words, i, zero, scale);
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
    let m = i / (4u * LANES);
    let x = i / LANES % 4u;
    let at = col0 + i % LANES * 4u + x;
    if (at < N) {
      var sum = 0.0;
      for (var y = 0u; y < SLICES; y++) { sum += partial[m * THREADS + y * LANES + i % LANES][x]; }
      c[m * N + at] = sum;
    }
  }
}
