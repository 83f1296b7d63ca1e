// Packs A[M,K] from f32 to int8 with one scale per row; counts what is not finite.
//
// Tile: one row per workgroup of 64 threads: a scale needs the whole row.
// Layout: wgsl/README.md, format int8-packed of A: words[M][ceil(K/4)], then M scales.
// Numerics: as pack/int8_columns.wgsl, with rows for columns.
// Source: symmetric absmax quantisation, as in LLM.int8() (Dettmers et al. 2022).

@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> packed: array<u32>;
//!include common/dims.wgsl
//!include common/status.wgsl

const LARGEST = 0x7f7fffffu;
const SMALLEST_NORMAL = 0x00800000u;
const THREADS = 64u;

var<workgroup> peaks: array<u32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let K = dims.K;
  let m = wid.x + wid.y * groups.x;
  if (m >= dims.M) { return; }
  let words = (K + 3u) / 4u;

  var peak_here = 0u;
  for (var k = thread; k < K; k += THREADS) {
    // |x| by bit pattern, since a compiler may assume that no NaN is compared.
    let bits = bitcast<u32>(a[m * K + k]) & 0x7fffffffu;
    if (bits > LARGEST) {
      atomicAdd(&status.count, 1u);
      atomicMin(&status.first, m * K + k);
    } else {
      peak_here = max(peak_here, bits);
    }
  }
  peaks[thread] = peak_here;
  workgroupBarrier();
  var peak = 0u;
  for (var i = 0u; i < THREADS; i++) { peak = max(peak, peaks[i]); }
  var scale = bitcast<f32>(peak) * (1.0 / 127.0);
  if (bitcast<u32>(scale) < SMALLEST_NORMAL) { scale = 1.0; }

  let last = m * K + K - 1u;
  for (var w = thread; w < words; w += THREADS) {
    let at = m * K + 4u * w;
    let x = vec4f(a[at], a[min(at + 1u, last)], a[min(at + 2u, last)], a[min(at + 3u, last)]);
    let q = clamp(vec4i(round(x / scale)), vec4i(-127), vec4i(127));
    let inside = vec4u(4u * w) + vec4u(0u, 1u, 2u, 3u) < vec4u(K);
    packed[m * words + w] = pack4xI8(select(vec4i(), q, inside));
  }
  if (thread == 0u) { packed[dims.M * words + m] = bitcast<u32>(scale); }
}
