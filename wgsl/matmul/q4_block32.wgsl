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

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
//!include common/dims.wgsl
//!include common/f32_arithmetic.wgsl

// One code of each of four words, as the weights they stand for.
fn weights(words: vec4u, i: u32, zero: vec4f, scale: vec4f) -> vec4f {
  return (vec4f((words >> vec4u(4u * i)) & vec4u(15u)) - zero) * scale;
}

// Four columns of one row of words, scales or zero points.
fn columns(row: u32, n: vec4u) -> vec4u {
  let at = vec4u(row * dims.N) + n;
  return vec4u(b[at.x], b[at.y], b[at.z], b[at.w]);
}

// Words of a quantised block, and weights of a word.
const WORDS = 4u;
const CODES = 8u;

//!include common/tile_a.wgsl

// B[k][4 columns], padded as A is.
const TILE_N = 64u;
const B_STRIDE = TILE_N / 4u + 1u;

var<workgroup> tile_b: array<vec4f, BLOCK_K * B_STRIDE>;

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

  // Of B a thread stages two codes of a word of each of four columns. An index past the edge is
  // clamped: past K the value becomes 0, past N what is computed from it is never stored.
  let blocks = (K + 31u) / 32u;
  let bg = thread % 16u;
  let bk = thread / 16u * 2u;
  let b_columns = min(vec4u(col0 + bg * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(N - 1u));
  //!include common/sums_8.wgsl

  for (var k0 = 0u; k0 < K; k0 += BLOCK_K) {
    //!include common/stage_a.wgsl
    let block = k0 / 32u;
    let words = columns((k0 + bk) / CODES, b_columns);
    let scale = bitcast<vec4f>(columns(WORDS * blocks + block, b_columns));
    let zero = bitcast<vec4f>(columns((WORDS + 1u) * blocks + block, b_columns));
    let even = weights(words, bk % CODES, zero, scale);
    let odd = weights(words, bk % CODES + 1u, zero, scale);
    tile_b[bk * B_STRIDE + bg] = select(vec4f(), even, k0 + bk < K);
    tile_b[(bk + 1u) * B_STRIDE + bg] = select(vec4f(), odd, k0 + bk + 1u < K);
    workgroupBarrier();

    // Two k per iteration: llvmpipe ends an invocation's loops after 65,535 iterations in all. One k
    // per iteration would make K = 50257 wrong there; two allow K up to about 90,000.
    for (var k = 0u; k < select(0u, BLOCK_K, inside); k += 2u) {
      {
        let i = k;
        //!include common/multiply_8x4.wgsl
      }
      {
        let i = k + 1u;
        //!include common/multiply_8x4.wgsl
      }
    }
    workgroupBarrier();
  }

  if (!inside) { return; }
  for (var r = 0u; r < 8u; r++) {
    //!include common/row_of_sums.wgsl
    let m = row + r % 4u + r / 4u * 32u;
    if (m < M) {
      let n = col;
      let values = v;
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
  let K = dims.K;
  let N = dims.N;
  let blocks = (K + 31u) / 32u;
  let col0 = (wid.x + wid.y * groups.x) * 4u * LANES;
  if (col0 >= N) { return; }

  let lane = thread % LANES;
  let slice = thread / LANES;
  let at = min(vec4u(col0 + lane * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(N - 1u));
  //!include common/sums_8.wgsl

  for (var w = slice; w * CODES < K; w += SLICES) {
    let words = columns(w, at);
    let block = w / WORDS;
    let scale = bitcast<vec4f>(columns(WORDS * blocks + block, at));
    let zero = bitcast<vec4f>(columns((WORDS + 1u) * blocks + block, at));
    let codes = min(CODES, K - w * CODES);
    for (var i = 0u; i < codes; i++) {
      let k = w * CODES + i;
      let v = weights(words, i, zero, scale);
      //!include common/matvec_rows.wgsl
    }
  }
  //!include common/matvec_reduce.wgsl
}
