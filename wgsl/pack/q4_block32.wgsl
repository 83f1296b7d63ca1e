// Packs B[K,N] from f32 to 4 bits in blocks of 32 along K, each with scale and zero point; counts
// what is not finite.
//
// Tile: one block of one column per thread, 64 threads per workgroup, blocks numbered row by row.
// Layout: wgsl/README.md, format q4-block32. Nibbles past K are 0.
// Numerics: the range of a block is widened to hold 0; scale = (max - min) / 15, or 1 where that is
// no normal f32; zero = round(-min / scale), 0 ... 15; code = round(x / scale) + zero, which is at
// most one off 0 ... 15 and then clamped: still within half a step.
// Source: asymmetric 4-bit blocks as ONNX's MatMulNBits and AWQ (Lin et al. 2023) have them.

@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> packed: array<u32>;
//!include common/dims.wgsl
//!include common/status.wgsl

const BLOCK = 32u;
const LARGEST = 0x7f7fffffu;
const SMALLEST_NORMAL = 0x00800000u;

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) wid: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u,
) {
  let K = dims.K;
  let N = dims.N;
  let blocks = (K + BLOCK - 1u) / BLOCK;
  let number = (wid.x + wid.y * groups.x) * 64u + lid.x;
  if (number >= blocks * N) { return; }
  let block = number / N;
  let n = number % N;
  let k0 = block * BLOCK;
  let k1 = min(k0 + BLOCK, K);

  // Largest and smallest by bit pattern: of values of one sign, the bits are in their order.
  var most = 0u;
  var least = 0u;
  for (var k = k0; k < k1; k++) {
    let index = k * N + n;
    let x = bitcast<u32>(b[index]);
    let bits = x & 0x7fffffffu;
    if (bits > LARGEST) {
      atomicAdd(&status.count, 1u);
      atomicMin(&status.first, index);
    } else if (x == bits) {
      most = max(most, bits);
    } else {
      least = max(least, bits);
    }
  }
  // Halved first, since the range itself may be over f32's.
  var scale = (0.5 * bitcast<f32>(most) + 0.5 * bitcast<f32>(least)) * (2.0 / 15.0);
  if (bitcast<u32>(scale) < SMALLEST_NORMAL) { scale = 1.0; }
  let zero = clamp(round(bitcast<f32>(least) / scale), 0.0, 15.0);

  for (var w = 0u; w < 4u; w++) {
    var word = 0u;
    for (var i = 0u; i < 8u; i++) {
      let k = k0 + 8u * w + i;
      if (k < k1) {
        let code = clamp(round(b[k * N + n] / scale) + zero, 0.0, 15.0);
        word |= u32(code) << (4u * i);
      }
    }
    packed[(4u * block + w) * N + n] = word;
  }
  packed[(4u * blocks + block) * N + n] = bitcast<u32>(scale);
  packed[(5u * blocks + block) * N + n] = bitcast<u32>(zero);
}
