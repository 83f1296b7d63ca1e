// C[M,N] = A[M,K] · B[K,N], all f32, with A shared between the lanes of a subgroup.
//
// Tile, main: 8x512 of C per workgroup of 128 threads; a thread holds 8 rows x 4 columns, which lie
// 128 apart.
// Tile, matvec (M <= 8): all ROWS rows x 128 columns per workgroup of 128 threads, a column each.
// Both walk K by as many k as a subgroup has lanes: each lane loads one k of the rows of A, and
// every lane gets each of them by a shuffle. B goes from memory to registers.
// Layout: wgsl/README.md. A and B are row-major f32.
// Numerics: f32 products, f32 sums. main adds k = 0 to K - 1 in order; matvec four k at a time.
// Source: the register-blocked product, its left operand passed round by subgroup shuffles instead
// of workgroup memory; WGSL's extension subgroups.
//
// Right for 4 to 128 lanes, in whichever order threads become lanes: lanes are counted, columns go
// by thread, rows and k by workgroup and lane. 128 threads are whole subgroups of any such size, so
// no lane is missing, and control flow is uniform up to the stores.

enable subgroups;

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

const THREADS = 128u;
const ROWS_MAIN = 8u;

// A[row][k] and the three rows below; an index past the edge is moved to the edge. Past K the value
// becomes 0, past M what is computed from it is never stored.
fn four_rows(row: u32, k: u32) -> vec4f {
  let M = dims.M;
  let K = dims.K;
  let at = min(k, K - 1u);
  let v = vec4f(
    a[min(row, M - 1u) * K + at],
    a[min(row + 1u, M - 1u) * K + at],
    a[min(row + 2u, M - 1u) * K + at],
    a[min(row + 3u, M - 1u) * K + at],
  );
  return select(vec4f(), v, k < K);
}

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  let M = dims.M;
  let K = dims.K;
  let N = dims.N;
  let tiles_n = (N + 4u * THREADS - 1u) / (4u * THREADS);
  let tile = wid.x + wid.y * groups.x;
  let row = (tile / tiles_n) * ROWS_MAIN;
  let col = (tile % tiles_n) * 4u * THREADS + thread;
  if (row >= M) { return; }
  let lanes = subgroupAdd(1u);

  let n0 = min(col, N - 1u);
  let n1 = min(col + THREADS, N - 1u);
  let n2 = min(col + 2u * THREADS, N - 1u);
  let n3 = min(col + 3u * THREADS, N - 1u);

  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  var s4 = vec4f();
  var s5 = vec4f();
  var s6 = vec4f();
  var s7 = vec4f();

  for (var k0 = 0u; k0 < K; k0 += lanes) {
    let own0 = four_rows(row, k0 + lane);
    let own1 = four_rows(row + 4u, k0 + lane);
    // Four k a round: llvmpipe ends an invocation's loops after 65,535 rounds in all.
    for (var j = 0u; j < lanes; j += 4u) {
      let at0 = min(k0 + j, K - 1u) * N;
      let w0 = vec4f(b[at0 + n0], b[at0 + n1], b[at0 + n2], b[at0 + n3]);
      let v0 = select(vec4f(), w0, k0 + j < K);
      let x00 = subgroupShuffle(own0, j);
      let x01 = subgroupShuffle(own1, j);
      s0 += x00.x * v0; s1 += x00.y * v0; s2 += x00.z * v0; s3 += x00.w * v0;
      s4 += x01.x * v0; s5 += x01.y * v0; s6 += x01.z * v0; s7 += x01.w * v0;
      let at1 = min(k0 + j + 1u, K - 1u) * N;
      let w1 = vec4f(b[at1 + n0], b[at1 + n1], b[at1 + n2], b[at1 + n3]);
      let v1 = select(vec4f(), w1, k0 + j + 1u < K);
      let x10 = subgroupShuffle(own0, j + 1u);
      let x11 = subgroupShuffle(own1, j + 1u);
      s0 += x10.x * v1; s1 += x10.y * v1; s2 += x10.z * v1; s3 += x10.w * v1;
      s4 += x11.x * v1; s5 += x11.y * v1; s6 += x11.z * v1; s7 += x11.w * v1;
      let at2 = min(k0 + j + 2u, K - 1u) * N;
      let w2 = vec4f(b[at2 + n0], b[at2 + n1], b[at2 + n2], b[at2 + n3]);
      let v2 = select(vec4f(), w2, k0 + j + 2u < K);
      let x20 = subgroupShuffle(own0, j + 2u);
      let x21 = subgroupShuffle(own1, j + 2u);
      s0 += x20.x * v2; s1 += x20.y * v2; s2 += x20.z * v2; s3 += x20.w * v2;
      s4 += x21.x * v2; s5 += x21.y * v2; s6 += x21.z * v2; s7 += x21.w * v2;
      let at3 = min(k0 + j + 3u, K - 1u) * N;
      let w3 = vec4f(b[at3 + n0], b[at3 + n1], b[at3 + n2], b[at3 + n3]);
      let v3 = select(vec4f(), w3, k0 + j + 3u < K);
      let x30 = subgroupShuffle(own0, j + 3u);
      let x31 = subgroupShuffle(own1, j + 3u);
      s0 += x30.x * v3; s1 += x30.y * v3; s2 += x30.z * v3; s3 += x30.w * v3;
      s4 += x31.x * v3; s5 += x31.y * v3; s6 += x31.z * v3; s7 += x31.w * v3;
    }
  }

  for (var r = 0u; r < min(ROWS_MAIN, M - row); r++) {
    var v = s0;
    if (r == 1u) { v = s1; }
    if (r == 2u) { v = s2; }
    if (r == 3u) { v = s3; }
    if (r == 4u) { v = s4; }
    if (r == 5u) { v = s5; }
    if (r == 6u) { v = s6; }
    if (r == 7u) { v = s7; }
    let at = (row + r) * N + col;
    if (col < N) { c[at] = v.x; }
    if (col + THREADS < N) { c[at + THREADS] = v.y; }
    if (col + 2u * THREADS < N) { c[at + 2u * THREADS] = v.z; }
    if (col + 3u * THREADS < N) { c[at + 3u * THREADS] = v.w; }
  }
}

// The number of rows is a constant of the pipeline, so that rows that are not there cost nothing.
override ROWS: u32;

// A[row][k], 0 past K.
fn own(row: u32, k: u32) -> f32 {
  let K = dims.K;
  return select(0.0, a[row * K + min(k, K - 1u)], k < K);
}

// What four neighbouring lanes hold, on every lane.
fn four(value: f32, first: u32) -> vec4f {
  return vec4f(
    subgroupShuffle(value, first),
    subgroupShuffle(value, first + 1u),
    subgroupShuffle(value, first + 2u),
    subgroupShuffle(value, first + 3u),
  );
}

@compute @workgroup_size(THREADS)
fn matvec(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  let K = dims.K;
  let N = dims.N;
  let col0 = (wid.x + wid.y * groups.x) * THREADS;
  if (col0 >= N) { return; }
  let lanes = subgroupAdd(1u);
  let col = col0 + thread;
  let n = min(col, N - 1u);

  var s0 = 0.0;
  var s1 = 0.0;
  var s2 = 0.0;
  var s3 = 0.0;
  var s4 = 0.0;
  var s5 = 0.0;
  var s6 = 0.0;
  var s7 = 0.0;

  for (var k0 = 0u; k0 < K; k0 += lanes) {
    let a0 = own(0u, k0 + lane);
    var a1 = 0.0;
    var a2 = 0.0;
    var a3 = 0.0;
    var a4 = 0.0;
    var a5 = 0.0;
    var a6 = 0.0;
    var a7 = 0.0;
    if (ROWS > 1u) { a1 = own(1u, k0 + lane); }
    if (ROWS > 2u) { a2 = own(2u, k0 + lane); }
    if (ROWS > 3u) { a3 = own(3u, k0 + lane); }
    if (ROWS > 4u) { a4 = own(4u, k0 + lane); }
    if (ROWS > 5u) { a5 = own(5u, k0 + lane); }
    if (ROWS > 6u) { a6 = own(6u, k0 + lane); }
    if (ROWS > 7u) { a7 = own(7u, k0 + lane); }
    // Four k a round, as in main.
    for (var j = 0u; j < lanes; j += 4u) {
      let k = k0 + j;
      let w = vec4f(
        b[min(k, K - 1u) * N + n],
        b[min(k + 1u, K - 1u) * N + n],
        b[min(k + 2u, K - 1u) * N + n],
        b[min(k + 3u, K - 1u) * N + n],
      );
      let v = select(vec4f(), w, vec4u(k, k + 1u, k + 2u, k + 3u) < vec4u(K));
      s0 += dot(four(a0, j), v);
      if (ROWS > 1u) { s1 += dot(four(a1, j), v); }
      if (ROWS > 2u) { s2 += dot(four(a2, j), v); }
      if (ROWS > 3u) { s3 += dot(four(a3, j), v); }
      if (ROWS > 4u) { s4 += dot(four(a4, j), v); }
      if (ROWS > 5u) { s5 += dot(four(a5, j), v); }
      if (ROWS > 6u) { s6 += dot(four(a6, j), v); }
      if (ROWS > 7u) { s7 += dot(four(a7, j), v); }
    }
  }

  if (col >= N) { return; }
  for (var r = 0u; r < ROWS; r++) {
    var v = s0;
    if (r == 1u) { v = s1; }
    if (r == 2u) { v = s2; }
    if (r == 3u) { v = s3; }
    if (r == 4u) { v = s4; }
    if (r == 5u) { v = s5; }
    if (r == 6u) { v = s6; }
    if (r == 7u) { v = s7; }
    c[r * N + col] = v;
  }
}
