// C[M,N] = A[M,K] · B[K,N] with B stored as packed f16 and everything computed in f32.
//
// Tile, main: 64x128 of C per workgroup of 128 threads; a thread holds 8 rows x 8 columns in
// registers. K is walked 16 at a time, both operands staged in workgroup memory: A as f32, B still
// packed, so that one load brings a thread its 8 columns.
// Tile, matvec (M <= 8): all ROWS rows x 32 columns per workgroup of 128 threads: 8 lanes of 4
// columns, each in 16 slices of K.
// Layout: wgsl/README.md. A is row-major f32, B is f16-packed (pairs along N, low half first).
// Numerics: f32 products, f32 sums. main adds k = 0 to K - 1 in order; matvec has 16 running sums
// per element, each over every 16th block of 16, and adds them in order.
// Source: the register- and workgroup-tiled SGEMM of CUDA textbooks (Volkov and Demmel 2008), and
// the split-K matrix-vector product; nothing but core WGSL.

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
//!include common/dims.wgsl
//!include common/f32_arithmetic.wgsl

fn four_weights(i: u32, j: u32) -> vec4f {
  return vec4f(unpack2x16float(b[i]), unpack2x16float(b[j]));
}

//!include common/tile_a.wgsl

// B[k][4 words, that is 8 columns], padded as A is.
const TILE_N = 128u;
const B_STRIDE = TILE_N / 8u + 2u;

var<workgroup> tile_b: array<vec4u, BLOCK_K * B_STRIDE>;

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
  //!include common/f16_words.wgsl
  //!include common/sums_8x8.wgsl

  for (var k0 = 0u; k0 < K; k0 += BLOCK_K) {
    //!include common/stage_a.wgsl
    for (var k = bk; k < BLOCK_K; k += 8u) {
      let at = min(k0 + k, K - 1u) * stride;
      let v = vec4u(b[at + b0], b[at + b1], b[at + b2], b[at + b3]);
      tile_b[k * B_STRIDE + bg] = select(vec4u(), v, k0 + k < K);
    }
    workgroupBarrier();

    // Two k per iteration: llvmpipe ends an invocation's loops after 65,535 iterations in all. One k
    // per iteration would make K = 50257 wrong there; two allow K up to about 69,000.
    for (var k = 0u; k < select(0u, BLOCK_K, inside); k += 2u) {
      {
        let i = k;
        let w = tile_b[i * B_STRIDE + lid.x];
        let v0 = vec4f(unpack2x16float(w.x), unpack2x16float(w.y));
        let v1 = vec4f(unpack2x16float(w.z), unpack2x16float(w.w));
        //!include common/multiply_8x8.wgsl
      }
      {
        let i = k + 1u;
        let w = tile_b[i * B_STRIDE + lid.x];
        let v0 = vec4f(unpack2x16float(w.x), unpack2x16float(w.y));
        let v1 = vec4f(unpack2x16float(w.z), unpack2x16float(w.w));
        //!include common/multiply_8x8.wgsl
      }
    }
    workgroupBarrier();
  }
  //!include common/store_8x8.wgsl
}

//!include common/matvec_f16.wgsl
