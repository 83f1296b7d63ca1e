// The entry point `matvec` for up to 8 rows of A and B as packed f16: all ROWS rows x 32 columns per
// workgroup of 128 threads. Stands at the end of a kernel.
//
// Every slice sums blocks of 16 consecutive k, each SLICES-th block of them.
//
// Expects: Activation, Sums, product, result; four_weights: four neighbouring weights, from the
// numbers of their two words in b.

//!include common/split_k.wgsl

const SLICE_K = 16u;

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

  // Threads 0..7 are 2 lanes in each of 4 slices, 0..31 all 8 lanes: 8 neighbours read 4 lines.
  let lane = thread % 2u + thread / 8u % 4u * 2u;
  let slice = thread / 2u % 4u + thread / 32u * 4u;

  let stride = (N + 1u) / 2u;
  let w0 = min(col0 / 2u + lane * 2u, stride - 1u);
  let w1 = min(col0 / 2u + lane * 2u + 1u, stride - 1u);

//!include common/sums_8.wgsl

  for (var k0 = slice * SLICE_K; k0 < K; k0 += SLICES * SLICE_K) {
    let k1 = min(k0 + SLICE_K, K);
    for (var k = k0; k < k1; k++) {
      let v = four_weights(k * stride + w0, k * stride + w1);
//!include common/matvec_rows.wgsl
    }
  }

//!include common/matvec_reduce.wgsl
}
