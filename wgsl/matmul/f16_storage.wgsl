// C[M,N] = A[M,K] · B[K,N] with B stored as packed f16 and everything computed in f32.
//
// Tile, main: 64x128 of C per workgroup of 128 threads; a thread holds 8 rows x 8 columns in
// registers. K is walked 16 at a time, both operands staged in workgroup memory: A as f32, B still
// packed, so that one load brings a thread its 8 columns.
// Tile, matvec (M <= 8): all ROWS rows x 32 columns per workgroup of 128 threads: 8 lanes
// of 4 columns, each in 16 slices of K.
// Layout: wgsl/README.md. A is row-major f32, B is f16-packed (pairs along N, low half first).
// Numerics: f32 products, f32 sums. main adds k = 0 to K - 1 in order; matvec has 16 running sums
// per element, each over every 16th block of 16, and adds them in order.
// Source: the register- and workgroup-tiled SGEMM of CUDA textbooks (Volkov and Demmel 2008), and
// the split-K matrix-vector product; nothing but core WGSL.
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
const TILE_N = 128u;
const BLOCK = 16u;
// A[k][4 rows]; one vector of padding, so that threads writing neighbouring k use different banks.
const A_STRIDE = TILE_M / 4u + 1u;
// B[k][4 words, that is 8 columns], padded for the same reason.
const B_STRIDE = TILE_N / 8u + 2u;

var<workgroup> tile_a: array<vec4f, BLOCK * A_STRIDE>;
var<workgroup> tile_b: array<vec4u, BLOCK * B_STRIDE>;

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
  let tiles_n = (N + TILE_N - 1u) / TILE_N;
  let tile = wid.x + wid.y * groups.x;
  let row0 = (tile / tiles_n) * TILE_M;
  let col0 = (tile % tiles_n) * TILE_N;
  if (row0 >= M) { return; }

  // This thread's rows are row + 0..3 and row + 32..35, its columns col + 0..7.
  let row = row0 + lid.y * 4u;
  let col = col0 + lid.x * 8u;
  let inside = row < M && col < N;

  // What this thread stages: column ak of A, 4 rows at a time, and 4 words from bw on of rows of B.
  // 32 threads cover 4 rows of B, 8 neighbours 32 bytes of each: a GPU's warp reads whole lines,
  // and a CPU's 8 lanes wait for 4 cache lines at once. An index past the edge is moved to the
  // edge: past K the value becomes 0, past M or N what is computed from it is never stored.
  let ak = thread % BLOCK;
  let groups_m = min(TILE_M / 4u, (M - row0 + 3u) / 4u);
  let stride = (N + 1u) / 2u;
  let bk = thread / 2u % 4u + thread / 64u * 4u;
  let bg = thread % 2u + thread / 8u % 8u * 2u;
  let bw = col0 / 2u + bg * 4u;
  let b0 = min(bw, stride - 1u);
  let b1 = min(bw + 1u, stride - 1u);
  let b2 = min(bw + 2u, stride - 1u);
  let b3 = min(bw + 3u, stride - 1u);

  var s00 = vec4f(); var s01 = vec4f();
  var s10 = vec4f(); var s11 = vec4f();
  var s20 = vec4f(); var s21 = vec4f();
  var s30 = vec4f(); var s31 = vec4f();
  var s40 = vec4f(); var s41 = vec4f();
  var s50 = vec4f(); var s51 = vec4f();
  var s60 = vec4f(); var s61 = vec4f();
  var s70 = vec4f(); var s71 = vec4f();

  for (var k0 = 0u; k0 < K; k0 += BLOCK) {
    let live = k0 + ak < K;
    let ka = min(k0 + ak, K - 1u);
    for (var g = thread / BLOCK; g < groups_m; g += 8u) {
      let r = row0 + g * 4u;
      let v = vec4f(
        a[r * K + ka],
        a[min(r + 1u, M - 1u) * K + ka],
        a[min(r + 2u, M - 1u) * K + ka],
        a[min(r + 3u, M - 1u) * K + ka],
      );
      tile_a[ak * A_STRIDE + g] = select(vec4f(), v, live);
    }
    for (var k = bk; k < BLOCK; k += 8u) {
      let at = min(k0 + k, K - 1u) * stride;
      let v = vec4u(b[at + b0], b[at + b1], b[at + b2], b[at + b3]);
      tile_b[k * B_STRIDE + bg] = select(vec4u(), v, k0 + k < K);
    }
    workgroupBarrier();

    // Two k a round: llvmpipe ends an invocation's loops after 65,535 rounds in all. One k a round
    // would make K = 50257 wrong there; two allow K up to about 69,000.
    for (var k = 0u; k < select(0u, BLOCK, inside); k += 2u) {
      let lo0 = tile_a[k * A_STRIDE + lid.y];
      let hi0 = tile_a[k * A_STRIDE + lid.y + 8u];
      let w0 = tile_b[k * B_STRIDE + lid.x];
      let v00 = vec4f(unpack2x16float(w0.x), unpack2x16float(w0.y));
      let v01 = vec4f(unpack2x16float(w0.z), unpack2x16float(w0.w));
      s00 += lo0.x * v00; s01 += lo0.x * v01;
      s10 += lo0.y * v00; s11 += lo0.y * v01;
      s20 += lo0.z * v00; s21 += lo0.z * v01;
      s30 += lo0.w * v00; s31 += lo0.w * v01;
      s40 += hi0.x * v00; s41 += hi0.x * v01;
      s50 += hi0.y * v00; s51 += hi0.y * v01;
      s60 += hi0.z * v00; s61 += hi0.z * v01;
      s70 += hi0.w * v00; s71 += hi0.w * v01;
      let lo1 = tile_a[(k + 1u) * A_STRIDE + lid.y];
      let hi1 = tile_a[(k + 1u) * A_STRIDE + lid.y + 8u];
      let w1 = tile_b[(k + 1u) * B_STRIDE + lid.x];
      let v10 = vec4f(unpack2x16float(w1.x), unpack2x16float(w1.y));
      let v11 = vec4f(unpack2x16float(w1.z), unpack2x16float(w1.w));
      s00 += lo1.x * v10; s01 += lo1.x * v11;
      s10 += lo1.y * v10; s11 += lo1.y * v11;
      s20 += lo1.z * v10; s21 += lo1.z * v11;
      s30 += lo1.w * v10; s31 += lo1.w * v11;
      s40 += hi1.x * v10; s41 += hi1.x * v11;
      s50 += hi1.y * v10; s51 += hi1.y * v11;
      s60 += hi1.z * v10; s61 += hi1.z * v11;
      s70 += hi1.w * v10; s71 += hi1.w * v11;
    }
    workgroupBarrier();
  }

  if (!inside) { return; }
  for (var i = 0u; i < 16u; i++) {
    let r = i / 2u;
    var v = s00;
    var u = s01;
    if (r == 1u) { v = s10; u = s11; }
    if (r == 2u) { v = s20; u = s21; }
    if (r == 3u) { v = s30; u = s31; }
    if (r == 4u) { v = s40; u = s41; }
    if (r == 5u) { v = s50; u = s51; }
    if (r == 6u) { v = s60; u = s61; }
    if (r == 7u) { v = s70; u = s71; }
    if (i % 2u == 1u) { v = u; }
    let m = row + r % 4u + r / 4u * 32u;
    let n = col + i % 2u * 4u;
    let at = m * N + n;
    if (m < M) {
      if (n < N) { c[at] = v.x; }
      if (n + 1u < N) { c[at + 1u] = v.y; }
      if (n + 2u < N) { c[at + 2u] = v.z; }
      if (n + 3u < N) { c[at + 3u] = v.w; }
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
  let col0 = (wid.x + wid.y * groups.x) * 4u * LANES;
  if (col0 >= N) { return; }

  // Threads 0..7 are 2 lanes in each of 4 slices, 0..31 all 8 lanes: as for B's tile in main.
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

  for (var k0 = slice * BLOCK; k0 < K; k0 += SLICES * BLOCK) {
    let k1 = min(k0 + BLOCK, K);
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
