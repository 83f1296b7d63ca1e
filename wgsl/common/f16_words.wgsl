// The words of packed f16 that a thread stages of B: four from b0 on, of every eighth row from bk
// on. Stands in a `main` of 128 threads, before its loop over K.
//
// 32 threads cover 4 rows of B, 8 neighbours 32 bytes of each: a GPU's warp reads whole lines, and
// a CPU's 8 lanes wait for 4 cache lines at once. An index past the edge is clamped: past N what is
// computed from it is never stored.
//
// Expects: N, col0, thread; TILE_N is 128.
// Gives: stride: words in a row of B; bk; bg: which four words of the tile's row; b0 to b3: the
// words' numbers in a row of B.

  let stride = (N + 1u) / 2u;
  let bk = thread / 2u % 4u + thread / 64u * 4u;
  let bg = thread % 2u + thread / 8u % 8u * 2u;
  let bw = col0 / 2u + bg * 4u;
  let b0 = min(bw, stride - 1u);
  let b1 = min(bw + 1u, stride - 1u);
  let b2 = min(bw + 2u, stride - 1u);
  let b3 = min(bw + 3u, stride - 1u);
