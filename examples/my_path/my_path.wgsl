// C[M,N] = alpha · A[M,K] · B[K,N] (+ bias), as another program might have it: bindings and uniform
// of its own, operands declared read_write, and a bias that this product goes without.
//
// Tile: TILE rows x 2·TILE columns of C per workgroup of TILE x TILE threads; a thread makes two
// neighbouring columns of one row.
// Layout: A row-major f32; B f16-packed, ceil(N/2) words per row of K; C row-major f32.
// Numerics: B rounded to f16, f32 products, f32 sums in the order of k.
// Source: the plain loop; nothing but core WGSL.

struct Params {
  M: u32,
  K: u32,
  N: u32,
  with_bias: u32,
  alpha: f32,
  pad_0: f32,
  pad_1: f32,
  pad_2: f32,
}

@group(0) @binding(6) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> statistics: array<atomic<u32>>;

override TILE: u32 = 8u;

@compute @workgroup_size(TILE, TILE)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  let word = id.x;
  let words = (params.N + 1u) / 2u;
  if (row >= params.M || word >= words) { return; }
  var sum = vec2f(0.0);
  for (var k = 0u; k < params.K; k++) {
    sum += a[row * params.K + k] * unpack2x16float(b[k * words + word]);
  }
  sum *= params.alpha;
  let col = 2u * word;
  let odd = col + 1u >= params.N;
  if (params.with_bias != 0u) {
    sum.x += bias[col];
    if (!odd) { sum.y += bias[col + 1u]; }
    atomicAdd(&statistics[0], 1u);
  }
  c[row * params.N + col] = sum.x;
  if (!odd) { c[row * params.N + col + 1u] = sum.y; }
}
