// A's part of a tile in workgroup memory, 64 rows by 16 k; stage_a.wgsl fills it. Stands among
// declarations.
//
// Expects: Activation, the type that A is rounded to.
// Gives: TILE_M, BLOCK_K; tile_a: four rows to a vector, A_STRIDE vectors to a k.

const TILE_M = 64u;
const BLOCK_K = 16u;
// One vector of padding, so that threads writing neighbouring k use different banks.
const A_STRIDE = TILE_M / 4u + 1u;

var<workgroup> tile_a: array<vec4<Activation>, BLOCK_K * A_STRIDE>;
