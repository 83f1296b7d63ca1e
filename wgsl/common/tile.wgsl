// The tile of C that a workgroup computes. Stands at the beginning of `main`.
//
// Expects: TILE_M, TILE_N; tile: the tile's number, along N first.
// Gives: M, K, N; row0, col0: where the tile begins. Past the last tile it returns.

  let M = dims.M;
  let K = dims.K;
  let N = dims.N;
  let tiles_n = (N + TILE_N - 1u) / TILE_N;
  let row0 = (tile / tiles_n) * TILE_M;
  let col0 = (tile % tiles_n) * TILE_N;
  if (row0 >= M) { return; }
