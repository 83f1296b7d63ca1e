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
// Source: matmul/shader_f16.wgsl with the sums in f16; WGSL's extension f16.

enable f16;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<vec2<f16>>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
//!include common/dims.wgsl

alias Activation = f16;
alias Sums = vec4<f16>;

fn product(x: f16, v: vec4<f16>) -> vec4<f16> { return x * v; }

//!include common/main_f16.wgsl

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
  let n = ((wid.x + wid.y * groups.x) * THREADS + thread) * 4u;
  if (n >= N) { return; }

  let stride = (N + 1u) / 2u;
  let w0 = n / 2u;
  let w1 = min(w0 + 1u, stride - 1u);
  //!include common/sums_8.wgsl

  // One k per iteration: on llvmpipe, which ends loops after 65,535 of them, K may be about that.
  for (var k = 0u; k < K; k++) {
    let v = vec4<f16>(b[k * stride + w0], b[k * stride + w1]);
    //!include common/matvec_rows.wgsl
  }

  for (var r = 0u; r < ROWS; r++) {
    //!include common/row_of_sums.wgsl
    let m = r;
    let values = vec4f(v);
    //!include common/store_4.wgsl
  }
}
