// What a packer refuses: how many values, and the first of them (wgsl/README.md). Stands among
// declarations.
//
// Gives: Status, status.

struct Status { count: atomic<u32>, first: atomic<u32> }

@group(0) @binding(4) var<storage, read_write> status: Status;
