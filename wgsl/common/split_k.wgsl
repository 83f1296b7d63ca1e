// A matrix-vector product of 128 threads: 8 lanes of four columns, each in 16 slices of K, whose
// sums matvec_reduce.wgsl adds. Stands among declarations.
//
// Expects: Sums, four columns' sums.
// Gives: ROWS, LANES, SLICES, THREADS, partial.

// The number of rows is a constant of the pipeline, so that rows that are not there cost nothing.
override ROWS: u32;

const LANES = 8u;
const SLICES = 16u;
const THREADS = LANES * SLICES;

var<workgroup> partial: array<Sums, 8u * THREADS>;
