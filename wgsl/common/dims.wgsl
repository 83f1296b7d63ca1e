// The sizes of the product, in a uniform of binding 3 (wgsl/README.md). Stands among declarations.
//
// Gives: Dims, dims.

struct Dims { M: u32, K: u32, N: u32, pad: u32 }

@group(0) @binding(3) var<uniform> dims: Dims;
