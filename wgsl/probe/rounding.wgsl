// How this adapter rounds. The operands come from a buffer so that no compiler folds them.
//
// Layout: the packer's (wgsl/README.md). In: b[0..5]. Out:
//   out[0] = b[0] + b[1], out[1] = b[0] + b[2]   f32 sums, as bits
//   out[2], out[3] = pack2x16float of b[3], b[4]
//   out[4] = the low half of b[5]'s bits as f16, unpacked, as bits

@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(1)
fn main() {
  out[0] = bitcast<u32>(b[0] + b[1]);
  out[1] = bitcast<u32>(b[0] + b[2]);
  out[2] = pack2x16float(vec2f(b[3], 0.0));
  out[3] = pack2x16float(vec2f(b[4], 0.0));
  out[4] = bitcast<u32>(unpack2x16float(bitcast<u32>(b[5])).x);
}
