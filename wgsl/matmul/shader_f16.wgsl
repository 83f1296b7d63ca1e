// C[M,N] = A[M,K] · B[K,N] with B stored as packed f16, f16 products and f32 sums.
//
// Tile, main: 64x128 of C per workgroup of 128 threads; a thread holds 8 rows x 8 columns in
// registers. K is walked 16 at a time, both operands staged in workgroup memory as f16.
// Tile, matvec (M <= 8): all ROWS rows x 32 columns per workgroup of 128 threads: 8 lanes of 4
// columns, each in 16 slices of K.
// Layout: wgsl/README.md. A is row-major f32, B is f16-packed (pairs along N, low half first).
// Numerics: A rounded to f16, f16 products, f32 sums. main adds k = 0 to K - 1 in order; matvec has
// 16 running sums per element, each over every 16th block of 16, and adds them in order.
// Source: matmul/f16_storage.wgsl with the multiplications in f16; WGSL's extension f16.

enable f16;

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<vec2<f16>>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
//!include common/dims.wgsl

alias Activation = f16;
alias Sums = vec4f;

fn product(x: f16, v: vec4<f16>) -> vec4f { return vec4f(x * v); }

fn result(sum: f32, m: u32, n: u32) -> f32 { return sum; }

fn four_weights(i: u32, j: u32) -> vec4<f16> { return vec4<f16>(b[i], b[j]); }

//!include common/main_f16.wgsl
//!include common/matvec_f16.wgsl
