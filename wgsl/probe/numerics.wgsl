// How this adapter rounds, where it ends loops, and whether workgroup memory starts at zero. The
// operands come from a buffer so that no compiler folds them.
//
// Layout: the packer's (wgsl/README.md). In: b[0..11], f32 as bits. Out:
//   out[0] = b[0] + b[1], out[1] = b[0] + b[2]   f32 sums, as bits
//   out[2], out[3] = pack2x16float of b[3], b[4]
//   out[4] = the low half of b[5] as f16, unpacked, as bits
//   out[5], out[6] = iterations done of b[6], and b[7] multiplied by b[8] in each
//   out[7] = 1 where a workgroup found a word that is not zero in its memory, else unchanged
// b[9] is not zero and b[10] = b[11]: each group leaves b[9] for the next one to find. Dispatched
// with many groups, and twice, because a GPU may have a place for each group of one dispatch.

@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

var<workgroup> memory: array<u32, 64>;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) wid: vec3u) {
  if (wid.x == 0u) {
    // The first loop of all: llvmpipe counts the iterations of all loops together.
    var state = b[7];
    var i = 0u;
    for (; i < b[6]; i++) { state *= b[8]; }
    out[5] = i;
    out[6] = state;
    out[0] = bitcast<u32>(bitcast<f32>(b[0]) + bitcast<f32>(b[1]));
    out[1] = bitcast<u32>(bitcast<f32>(b[0]) + bitcast<f32>(b[2]));
    out[2] = pack2x16float(vec2f(bitcast<f32>(b[3]), 0.0));
    out[3] = pack2x16float(vec2f(bitcast<f32>(b[4]), 0.0));
    out[4] = bitcast<u32>(unpack2x16float(b[5]).x);
  }
  let found = memory[b[10]];
  memory[b[10]] = b[9];
  // Read back by another index, or a compiler may drop a store that nothing reads.
  if (found != 0u || memory[b[11]] == 0u) { out[7] = 1u; }
}
