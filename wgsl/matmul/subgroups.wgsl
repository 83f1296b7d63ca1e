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

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
//!include common/dims.wgsl

const THREADS = 128u;
const TILE_M = 8u;
const TILE_N = 4u * THREADS;

alias Sums = vec4f;

// A[row][k] and the three rows below; an index past the edge is clamped. Past K the value becomes 0,
// past M what is computed from it is never stored.
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

// B[k] in four columns, 0 past K.
fn four_columns(k: u32, n: vec4u) -> vec4f {
  let at = min(k, dims.K - 1u) * dims.N;
  let v = vec4f(b[at + n.x], b[at + n.y], b[at + n.z], b[at + n.w]);
  return select(vec4f(), v, k < dims.K);
}

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  let tile = wid.x + wid.y * groups.x;
  //!include common/tile.wgsl
  let lanes = subgroupAdd(1u);
  let col = col0 + thread;
  let n = min(vec4u(col) + vec4u(0u, 1u, 2u, 3u) * THREADS, vec4u(N - 1u));
  //!include common/sums_8.wgsl

  for (var k0 = 0u; k0 < K; k0 += lanes) {
    let lane_lo = four_rows(row0, k0 + lane);
    let lane_hi = four_rows(row0 + 4u, k0 + lane);
    // Four k per iteration: llvmpipe ends an invocation's loops after 65,535 iterations in all.
    for (var j = 0u; j < lanes; j += 4u) {
      {
        let v = four_columns(k0 + j, n);
        let lo = subgroupShuffle(lane_lo, j);
        let hi = subgroupShuffle(lane_hi, j);
        s0 += lo.x * v; s1 += lo.y * v; s2 += lo.z * v; s3 += lo.w * v;
        s4 += hi.x * v; s5 += hi.y * v; s6 += hi.z * v; s7 += hi.w * v;
      }
      {
        let v = four_columns(k0 + j + 1u, n);
        let lo = subgroupShuffle(lane_lo, j + 1u);
        let hi = subgroupShuffle(lane_hi, j + 1u);
        s0 += lo.x * v; s1 += lo.y * v; s2 += lo.z * v; s3 += lo.w * v;
        s4 += hi.x * v; s5 += hi.y * v; s6 += hi.z * v; s7 += hi.w * v;
      }
      {
        let v = four_columns(k0 + j + 2u, n);
        let lo = subgroupShuffle(lane_lo, j + 2u);
        let hi = subgroupShuffle(lane_hi, j + 2u);
        s0 += lo.x * v; s1 += lo.y * v; s2 += lo.z * v; s3 += lo.w * v;
        s4 += hi.x * v; s5 += hi.y * v; s6 += hi.z * v; s7 += hi.w * v;
      }
      {
        let v = four_columns(k0 + j + 3u, n);
        let lo = subgroupShuffle(lane_lo, j + 3u);
        let hi = subgroupShuffle(lane_hi, j + 3u);
        s0 += lo.x * v; s1 += lo.y * v; s2 += lo.z * v; s3 += lo.w * v;
        s4 += hi.x * v; s5 += hi.y * v; s6 += hi.z * v; s7 += hi.w * v;
      }
    }
  }

  for (var r = 0u; r < min(TILE_M, M - row0); r++) {
    //!include common/row_of_sums.wgsl
    let at = (row0 + r) * N + col;
    if (col < N) { c[at] = v.x; }
    if (col + THREADS < N) { c[at + THREADS] = v.y; }
    if (col + 2u * THREADS < N) { c[at + 2u * THREADS] = v.z; }
    if (col + 3u * THREADS < N) { c[at + 3u * THREADS] = v.w; }
  }
}

// The number of rows is a constant of the pipeline, so that rows that are not there cost nothing.
override ROWS: u32;

// A[row][k], 0 past K.
fn lane_value(row: u32, k: u32) -> f32 {
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
    let a0 = lane_value(0u, k0 + lane);
    var a1 = 0.0;
    var a2 = 0.0;
    var a3 = 0.0;
    var a4 = 0.0;
    var a5 = 0.0;
    var a6 = 0.0;
    var a7 = 0.0;
    if (ROWS > 1u) { a1 = lane_value(1u, k0 + lane); }
    if (ROWS > 2u) { a2 = lane_value(2u, k0 + lane); }
    if (ROWS > 3u) { a3 = lane_value(3u, k0 + lane); }
    if (ROWS > 4u) { a4 = lane_value(4u, k0 + lane); }
    if (ROWS > 5u) { a5 = lane_value(5u, k0 + lane); }
    if (ROWS > 6u) { a6 = lane_value(6u, k0 + lane); }
    if (ROWS > 7u) { a7 = lane_value(7u, k0 + lane); }
    // Four k per iteration, as in main.
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
    //!include common/row_of_sums.wgsl
    c[r * N + col] = v;
  }
}
