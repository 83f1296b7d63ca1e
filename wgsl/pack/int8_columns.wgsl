// Packs B[K,N] from f32 to int8 with one scale per column; counts what is not finite.
//
// Tile: one column per thread, 64 threads per workgroup: a scale needs the whole column.
// Layout: wgsl/README.md, format int8-packed of B: words[ceil(K/4)][N], then N scales.
// Numerics: scale = absmax * (1/127), rounded once, or 1 where that is no normal f32, so that an
// all-zero column stays zero; x / scale to the nearest whole number, which is within -127 ... 127.
// Source: symmetric absmax quantisation, as in LLM.int8() (Dettmers et al. 2022).

@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> packed: array<u32>;
//!include common/dims.wgsl
//!include common/status.wgsl

const LARGEST = 0x7f7fffffu;
const SMALLEST_NORMAL = 0x00800000u;

// |x| by bit pattern, since a compiler may assume that no NaN is compared.
fn magnitude(index: u32) -> u32 {
  let bits = bitcast<u32>(b[index]) & 0x7fffffffu;
  if (bits > LARGEST) {
    atomicAdd(&status.count, 1u);
    atomicMin(&status.first, index);
    return 0u;
  }
  return bits;
}

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let K = dims.K;
  let N = dims.N;
  let n = (wid.x + wid.y * groups.x) * 64u + lid.x;
  if (n >= N) { return; }
  let words = (K + 3u) / 4u;
  let last = (K - 1u) * N + n;

  // Four k per iteration: llvmpipe ends an invocation's loops after 65,535 iterations in all.
  var peak = 0u;
  for (var k = 0u; k < K - K % 4u; k += 4u) {
    let at = k * N + n;
    peak = max(max(peak, magnitude(at)), magnitude(at + N));
    peak = max(max(peak, magnitude(at + 2u * N)), magnitude(at + 3u * N));
  }
  for (var k = K - K % 4u; k < K; k++) { peak = max(peak, magnitude(k * N + n)); }
  var scale = bitcast<f32>(peak) * (1.0 / 127.0);
  if (bitcast<u32>(scale) < SMALLEST_NORMAL) { scale = 1.0; }

  // An index past the column is clamped to its end; what comes of it becomes 0.
  for (var w = 0u; w < words; w++) {
    let k = 4u * w;
    let at = k * N + n;
    let x = vec4f(b[at], b[min(at + N, last)], b[min(at + 2u * N, last)], b[min(at + 3u * N, last)]);
    let q = clamp(vec4i(round(x / scale)), vec4i(-127), vec4i(127));
    let inside = vec4u(k) + vec4u(0u, 1u, 2u, 3u) < vec4u(K);
    packed[w * N + n] = pack4xI8(select(vec4i(), q, inside));
  }
  packed[words * N + n] = bitcast<u32>(scale);
}
