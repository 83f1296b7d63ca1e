// The entry point `main` for B as packed f16 and products in f16: 64x128 of C per workgroup of 128
// threads; a thread holds 8 rows x 8 columns in registers. K is walked 16 at a time, both operands
// staged in workgroup memory as f16. Stands among declarations.
//
// Expects: Activation is f16; Sums; product: a value of A times four weights, in f16; b:
// array<vec2<f16>>.

//!include common/tile_a.wgsl

// B[k][4 columns], padded as A is.
const TILE_N = 128u;
const B_STRIDE = TILE_N / 4u + 4u;

var<workgroup> tile_b: array<vec4<f16>, BLOCK_K * B_STRIDE>;

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
      let live_b = k0 + k < K;
      let v0 = vec4<f16>(b[at + b0], b[at + b1]);
      let v1 = vec4<f16>(b[at + b2], b[at + b3]);
      tile_b[k * B_STRIDE + bg * 2u] = select(vec4<f16>(), v0, live_b);
      tile_b[k * B_STRIDE + bg * 2u + 1u] = select(vec4<f16>(), v1, live_b);
    }
    workgroupBarrier();

    // Two k per iteration: llvmpipe ends an invocation's loops after 65,535 iterations in all. One k
    // per iteration would make K = 50257 wrong there; two allow K up to about 69,000.
    for (var k = 0u; k < select(0u, BLOCK_K, inside); k += 2u) {
      {
        let i = k;
        let v0 = tile_b[i * B_STRIDE + lid.x * 2u];
        let v1 = tile_b[i * B_STRIDE + lid.x * 2u + 1u];
        //!include common/multiply_8x8.wgsl
      }
      {
        let i = k + 1u;
        let v0 = tile_b[i * B_STRIDE + lid.x * 2u];
        let v1 = tile_b[i * B_STRIDE + lid.x * 2u + 1u];
        //!include common/multiply_8x8.wgsl
      }
    }
    workgroupBarrier();
  }
  //!include common/store_8x8.wgsl
}
