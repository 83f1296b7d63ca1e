// The part of a tile that one of 16x8 threads computes: rows row + 0..3 and row + 32..35, and
// TILE_N / 16 columns from col on. Stands in `main`, after tile.wgsl.
//
// Expects: TILE_M is 64; TILE_N; row0, col0; lid.
// Gives: row, col; inside: whether any of it is in C.

  let row = row0 + lid.y * 4u;
  let col = col0 + lid.x * (TILE_N / 16u);
  let inside = row < M && col < N;
