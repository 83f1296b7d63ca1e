// C[M,N] = A[M,K] · B[K,N] with B stored as packed f16, f16 products and f16 sums: what f16
// accumulation costs, to be measured and not to be used.
//
// Tile, main: 64x128 of C per workgroup of 128 threads; a thread holds 8 rows x 8 columns in
// registers. K is walked 16 at a time, both operands staged in workgroup memory as f16.
// Tile, matvec (M <= 8): all ROWS rows x 256 columns per workgroup of 64 threads of 4 columns each.
// Layout: wgsl/README.md. A is row-major f32, B is f16-packed (pairs along N, low half first).
// Numerics: A rounded to f16, f16 products, and one f16 running sum per element, over k = 0 to
// K - 1 in order. So matvec does not split K: shorter sums would round less than is declared.
// Where all terms have one sign, a sum stops growing when a term is under half an ulp of it.
// Source: matmul_shader_f16.wgsl with the sums in f16; WGSL's extension f16.
//
// Registers are named vectors and not an array, because a compiler that does not unroll keeps an
// indexed array in memory. The stores share a loop because lavapipe expands each memory access in
// the text for every lane, and that is its compile time.

enable f16;

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<vec2<f16>>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;

const TILE_M = 64u;
const TILE_N = 128u;
const BLOCK = 16u;
// A[k][4 rows]; one vector of padding, so that threads writing neighbouring k use different banks.
const A_STRIDE = TILE_M / 4u + 1u;
// B[k][4 columns], padded for the same reason.
const B_STRIDE = TILE_N / 4u + 4u;

var<workgroup> tile_a: array<vec4<f16>, BLOCK * A_STRIDE>;
var<workgroup> tile_b: array<vec4<f16>, BLOCK * B_STRIDE>;

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

  var s00 = vec4<f16>(); var s01 = vec4<f16>();
  var s10 = vec4<f16>(); var s11 = vec4<f16>();
  var s20 = vec4<f16>(); var s21 = vec4<f16>();
  var s30 = vec4<f16>(); var s31 = vec4<f16>();
  var s40 = vec4<f16>(); var s41 = vec4<f16>();
  var s50 = vec4<f16>(); var s51 = vec4<f16>();
  var s60 = vec4<f16>(); var s61 = vec4<f16>();
  var s70 = vec4<f16>(); var s71 = vec4<f16>();

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
      tile_a[ak * A_STRIDE + g] = vec4<f16>(select(vec4f(), v, live));
    }
    for (var k = bk; k < BLOCK; k += 8u) {
      let at = min(k0 + k, K - 1u) * stride;
      let live_b = k0 + k < K;
      let v0 = vec4<f16>(b[at + b0], b[at + b1]);
      let v1 = vec4<f16>(b[at + b2], b[at + b3]);
      tile_b[k * B_STRIDE + bg * 2u] = select(vec4<f16>(), v0, live_b);
      tile_b[k * B_STRIDE + bg * 2u + 1u] = select(vec4<f16>(), v1, live_b);
    }
    workgroupBarrier();

    // Two k a round: llvmpipe ends an invocation's loops after 65,535 rounds in all. One k a round
    // would make K = 50257 wrong there; two allow K up to about 69,000.
    for (var k = 0u; k < select(0u, BLOCK, inside); k += 2u) {
      let lo0 = tile_a[k * A_STRIDE + lid.y];
      let hi0 = tile_a[k * A_STRIDE + lid.y + 8u];
      let v00 = tile_b[k * B_STRIDE + lid.x * 2u];
      let v01 = tile_b[k * B_STRIDE + lid.x * 2u + 1u];
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
      let v10 = tile_b[(k + 1u) * B_STRIDE + lid.x * 2u];
      let v11 = tile_b[(k + 1u) * B_STRIDE + lid.x * 2u + 1u];
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
      if (n < N) { c[at] = f32(v.x); }
      if (n + 1u < N) { c[at + 1u] = f32(v.y); }
      if (n + 2u < N) { c[at + 2u] = f32(v.z); }
      if (n + 3u < N) { c[at + 3u] = f32(v.w); }
    }
  }
}

// The number of rows is a constant of the pipeline, so that rows that are not there cost nothing.
override ROWS: u32;

const THREADS = 64u;

@compute @workgroup_size(THREADS)
fn matvec(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let K = dims.K;
  let N = dims.N;
  let col = ((wid.x + wid.y * groups.x) * THREADS + thread) * 4u;
  if (col >= N) { return; }

  let stride = (N + 1u) / 2u;
  let w0 = col / 2u;
  let w1 = min(w0 + 1u, stride - 1u);

  var s0 = vec4<f16>();
  var s1 = vec4<f16>();
  var s2 = vec4<f16>();
  var s3 = vec4<f16>();
  var s4 = vec4<f16>();
  var s5 = vec4<f16>();
  var s6 = vec4<f16>();
  var s7 = vec4<f16>();

  // One round per k: on llvmpipe, which ends loops after 65,535 rounds, K may be about that.
  for (var k = 0u; k < K; k++) {
    let at = k * stride;
    let v = vec4<f16>(b[at + w0], b[at + w1]);
    s0 += f16(a[k]) * v;
    if (ROWS > 1u) { s1 += f16(a[K + k]) * v; }
    if (ROWS > 2u) { s2 += f16(a[2u * K + k]) * v; }
    if (ROWS > 3u) { s3 += f16(a[3u * K + k]) * v; }
    if (ROWS > 4u) { s4 += f16(a[4u * K + k]) * v; }
    if (ROWS > 5u) { s5 += f16(a[5u * K + k]) * v; }
    if (ROWS > 6u) { s6 += f16(a[6u * K + k]) * v; }
    if (ROWS > 7u) { s7 += f16(a[7u * K + k]) * v; }
  }

  for (var r = 0u; r < ROWS; r++) {
    var v = s0;
    if (r == 1u) { v = s1; }
    if (r == 2u) { v = s2; }
    if (r == 3u) { v = s3; }
    if (r == 4u) { v = s4; }
    if (r == 5u) { v = s5; }
    if (r == 6u) { v = s6; }
    if (r == 7u) { v = s7; }
    let at = r * N + col;
    c[at] = f32(v.x);
    if (col + 1u < N) { c[at + 1u] = f32(v.y); }
    if (col + 2u < N) { c[at + 2u] = f32(v.z); }
    if (col + 3u < N) { c[at + 3u] = f32(v.w); }
  }
}
