// Packs B[K,N] from f32 to f16 pairs along N; counts what f16 cannot hold.
//
// Tile: one word (two columns) per thread, 64 threads per workgroup, words numbered row by row.
// Layout: wgsl/README.md, format f16-packed. An odd N is padded here with a zero high half.
// Numerics: pack2x16float, whose rounding WGSL leaves to the adapter: either f16 neighbour.
// Source: WGSL's core built-ins; no feature needed.

@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> packed: array<u32>;
//!include common/dims.wgsl
//!include common/status.wgsl

const F16_MAX = 65504.0;

fn checked(index: u32) -> f32 {
  let x = b[index];
  // By bit pattern, since a compiler may assume that no NaN is compared.
  if ((bitcast<u32>(x) & 0x7fffffffu) > bitcast<u32>(F16_MAX)) {
    atomicAdd(&status.count, 1u);
    atomicMin(&status.first, index);
  }
  return x;
}

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let stride = (dims.N + 1u) / 2u;
  let word = (wid.x + wid.y * groups.x) * 64u + lid.x;
  if (word >= dims.K * stride) { return; }
  let k = word / stride;
  let n = (word % stride) * 2u;
  let low = checked(k * dims.N + n);
  var high = 0.0;
  if (n + 1u < dims.N) { high = checked(k * dims.N + n + 1u); }
  packed[word] = pack2x16float(vec2f(low, high));
}
