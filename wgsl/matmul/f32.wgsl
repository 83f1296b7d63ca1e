// C[M,N] = A[M,K] · B[K,N], all f32: the reference every path is compared with.
//
// Tile, main: 64x128 of C per workgroup of 128 threads; a thread holds 8 rows x 8 columns in
// registers. K is walked 16 at a time, both operands staged in workgroup memory.
// Tile, matvec (M <= 8): all ROWS rows x 32 columns per workgroup of 128 threads: 8 lanes
// of 4 columns, each in 16 slices of K.
// Layout: wgsl/README.md. A and B are row-major f32.
// Numerics: f32 products, f32 sums; K in blocks of 16, each summed from zero, then added to a
// running sum. main has one running sum per element; matvec has 16, each over every 16th block,
// and adds them in order.
// Source: the register- and workgroup-tiled SGEMM of CUDA textbooks (Volkov and Demmel 2008), and
// the split-K matrix-vector product; nothing but core WGSL.
//
// Nothing is included here, so that no fault is shared with the kernels that are compared with it.
//
// Registers are named vectors and not an array, because a compiler that does not unroll keeps an
// indexed array in memory. The stores share a loop because lavapipe expands each memory access in
// the text for every lane, and that is its compile time.

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

const TILE_M = 64u;
const TILE_N = 128u;
const BLOCK_K = 16u;
// A[k][4 rows]; one vector of padding, so that threads writing neighbouring k use different banks.
const A_STRIDE = TILE_M / 4u + 1u;
// B[k][4 columns], padded for the same reason.
const B_STRIDE = TILE_N / 4u + 2u;

var<workgroup> tile_a: array<vec4f, BLOCK_K * A_STRIDE>;
var<workgroup> tile_b: array<vec4f, BLOCK_K * B_STRIDE>;

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

  // This thread's rows are row + 0..3 and row + 32..35, its columns col + 0..3 and col + 64..67.
  let row = row0 + lid.y * 4u;
  let col = col0 + lid.x * 4u;
  let inside = row < M && col < N;

  // What this thread stages: column ak of A, 4 rows at a time, and 4 columns from bn on of rows of B.
  // 32 threads cover 4 rows of B, 8 neighbours 32 bytes of each: a GPU's warp reads whole lines,
  // and a CPU's 8 lanes wait for 4 cache lines at once. An index past the edge is clamped: past K
  // the value becomes 0, past M or N what is computed from it is never stored.
  let ak = thread % BLOCK_K;
  let groups_m = min(TILE_M / 4u, (M - row0 + 3u) / 4u);
  let bk = thread / 2u % 4u;
  let bg = thread % 2u + thread / 8u * 2u;
  let bn = col0 + bg * 4u;
  let b0 = min(bn, N - 1u);
  let b1 = min(bn + 1u, N - 1u);
  let b2 = min(bn + 2u, N - 1u);
  let b3 = min(bn + 3u, N - 1u);

  var s00 = vec4f(); var s01 = vec4f();
  var s10 = vec4f(); var s11 = vec4f();
  var s20 = vec4f(); var s21 = vec4f();
  var s30 = vec4f(); var s31 = vec4f();
  var s40 = vec4f(); var s41 = vec4f();
  var s50 = vec4f(); var s51 = vec4f();
  var s60 = vec4f(); var s61 = vec4f();
  var s70 = vec4f(); var s71 = vec4f();

  for (var k0 = 0u; k0 < K; k0 += BLOCK_K) {
    let live = k0 + ak < K;
    let ka = min(k0 + ak, K - 1u);
    for (var g = thread / BLOCK_K; g < groups_m; g += 8u) {
      let r = row0 + g * 4u;
      let v = vec4f(
        a[r * K + ka],
        a[min(r + 1u, M - 1u) * K + ka],
        a[min(r + 2u, M - 1u) * K + ka],
        a[min(r + 3u, M - 1u) * K + ka],
      );
      tile_a[ak * A_STRIDE + g] = select(vec4f(), v, live);
    }
    for (var k = bk; k < BLOCK_K; k += 4u) {
      let at = min(k0 + k, K - 1u) * N;
      let v = vec4f(b[at + b0], b[at + b1], b[at + b2], b[at + b3]);
      tile_b[k * B_STRIDE + bg] = select(vec4f(), v, k0 + k < K);
    }
    workgroupBarrier();

    // Explicit zeros: without an initializer both naga and Tint kept the last iteration's values.
    var p00 = vec4f(); var p01 = vec4f();
    var p10 = vec4f(); var p11 = vec4f();
    var p20 = vec4f(); var p21 = vec4f();
    var p30 = vec4f(); var p31 = vec4f();
    var p40 = vec4f(); var p41 = vec4f();
    var p50 = vec4f(); var p51 = vec4f();
    var p60 = vec4f(); var p61 = vec4f();
    var p70 = vec4f(); var p71 = vec4f();
    // Four k per iteration: llvmpipe ends an invocation's loops after 65,535 iterations in all. One k
    // per iteration would make K = 50257 wrong there; four allow K up to about 95,000.
    for (var k = 0u; k < select(0u, BLOCK_K, inside); k += 4u) {
      let lo0 = tile_a[(k + 0u) * A_STRIDE + lid.y];
      let hi0 = tile_a[(k + 0u) * A_STRIDE + lid.y + 8u];
      let v00 = tile_b[(k + 0u) * B_STRIDE + lid.x];
      let v01 = tile_b[(k + 0u) * B_STRIDE + lid.x + 16u];
      p00 += lo0.x * v00; p01 += lo0.x * v01;
      p10 += lo0.y * v00; p11 += lo0.y * v01;
      p20 += lo0.z * v00; p21 += lo0.z * v01;
      p30 += lo0.w * v00; p31 += lo0.w * v01;
      p40 += hi0.x * v00; p41 += hi0.x * v01;
      p50 += hi0.y * v00; p51 += hi0.y * v01;
      p60 += hi0.z * v00; p61 += hi0.z * v01;
      p70 += hi0.w * v00; p71 += hi0.w * v01;
      let lo1 = tile_a[(k + 1u) * A_STRIDE + lid.y];
      let hi1 = tile_a[(k + 1u) * A_STRIDE + lid.y + 8u];
      let v10 = tile_b[(k + 1u) * B_STRIDE + lid.x];
      let v11 = tile_b[(k + 1u) * B_STRIDE + lid.x + 16u];
      p00 += lo1.x * v10; p01 += lo1.x * v11;
      p10 += lo1.y * v10; p11 += lo1.y * v11;
      p20 += lo1.z * v10; p21 += lo1.z * v11;
      p30 += lo1.w * v10; p31 += lo1.w * v11;
      p40 += hi1.x * v10; p41 += hi1.x * v11;
      p50 += hi1.y * v10; p51 += hi1.y * v11;
      p60 += hi1.z * v10; p61 += hi1.z * v11;
      p70 += hi1.w * v10; p71 += hi1.w * v11;
      let lo2 = tile_a[(k + 2u) * A_STRIDE + lid.y];
      let hi2 = tile_a[(k + 2u) * A_STRIDE + lid.y + 8u];
      let v20 = tile_b[(k + 2u) * B_STRIDE + lid.x];
      let v21 = tile_b[(k + 2u) * B_STRIDE + lid.x + 16u];
      p00 += lo2.x * v20; p01 += lo2.x * v21;
      p10 += lo2.y * v20; p11 += lo2.y * v21;
      p20 += lo2.z * v20; p21 += lo2.z * v21;
      p30 += lo2.w * v20; p31 += lo2.w * v21;
      p40 += hi2.x * v20; p41 += hi2.x * v21;
      p50 += hi2.y * v20; p51 += hi2.y * v21;
      p60 += hi2.z * v20; p61 += hi2.z * v21;
      p70 += hi2.w * v20; p71 += hi2.w * v21;
      let lo3 = tile_a[(k + 3u) * A_STRIDE + lid.y];
      let hi3 = tile_a[(k + 3u) * A_STRIDE + lid.y + 8u];
      let v30 = tile_b[(k + 3u) * B_STRIDE + lid.x];
      let v31 = tile_b[(k + 3u) * B_STRIDE + lid.x + 16u];
      p00 += lo3.x * v30; p01 += lo3.x * v31;
      p10 += lo3.y * v30; p11 += lo3.y * v31;
      p20 += lo3.z * v30; p21 += lo3.z * v31;
      p30 += lo3.w * v30; p31 += lo3.w * v31;
      p40 += hi3.x * v30; p41 += hi3.x * v31;
      p50 += hi3.y * v30; p51 += hi3.y * v31;
      p60 += hi3.z * v30; p61 += hi3.z * v31;
      p70 += hi3.w * v30; p71 += hi3.w * v31;
    }
    s00 += p00; s01 += p01;
    s10 += p10; s11 += p11;
    s20 += p20; s21 += p21;
    s30 += p30; s31 += p31;
    s40 += p40; s41 += p41;
    s50 += p50; s51 += p51;
    s60 += p60; s61 += p61;
    s70 += p70; s71 += p71;
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
    let n = col + i % 2u * 64u;
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
  let slot = slice * LANES + lane;

  let n0 = min(col0 + lane * 4u, N - 1u);
  let n1 = min(col0 + lane * 4u + 1u, N - 1u);
  let n2 = min(col0 + lane * 4u + 2u, N - 1u);
  let n3 = min(col0 + lane * 4u + 3u, N - 1u);

  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  var s4 = vec4f();
  var s5 = vec4f();
  var s6 = vec4f();
  var s7 = vec4f();

  for (var k0 = slice * BLOCK_K; k0 < K; k0 += SLICES * BLOCK_K) {
    var p0 = vec4f();
    var p1 = vec4f();
    var p2 = vec4f();
    var p3 = vec4f();
    var p4 = vec4f();
    var p5 = vec4f();
    var p6 = vec4f();
    var p7 = vec4f();
    let k1 = min(k0 + BLOCK_K, K);
    for (var k = k0; k < k1; k++) {
      let at = k * N;
      let v = vec4f(b[at + n0], b[at + n1], b[at + n2], b[at + n3]);
      p0 += a[k] * v;
      if (ROWS > 1u) { p1 += a[K + k] * v; }
      if (ROWS > 2u) { p2 += a[2u * K + k] * v; }
      if (ROWS > 3u) { p3 += a[3u * K + k] * v; }
      if (ROWS > 4u) { p4 += a[4u * K + k] * v; }
      if (ROWS > 5u) { p5 += a[5u * K + k] * v; }
      if (ROWS > 6u) { p6 += a[6u * K + k] * v; }
      if (ROWS > 7u) { p7 += a[7u * K + k] * v; }
    }
    s0 += p0;
    s1 += p1;
    s2 += p2;
    s3 += p3;
    s4 += p4;
    s5 += p5;
    s6 += p6;
    s7 += p7;
  }

  partial[slot] = s0;
  if (ROWS > 1u) { partial[THREADS + slot] = s1; }
  if (ROWS > 2u) { partial[2u * THREADS + slot] = s2; }
  if (ROWS > 3u) { partial[3u * THREADS + slot] = s3; }
  if (ROWS > 4u) { partial[4u * THREADS + slot] = s4; }
  if (ROWS > 5u) { partial[5u * THREADS + slot] = s5; }
  if (ROWS > 6u) { partial[6u * THREADS + slot] = s6; }
  if (ROWS > 7u) { partial[7u * THREADS + slot] = s7; }
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
