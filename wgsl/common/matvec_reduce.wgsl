// Add the slices of K in order, and store. Stands at the end of a `matvec` with the constants of
// split_k.wgsl.
//
// Expects: what split_k.wgsl and sums_8.wgsl give; thread; lane, slice: which columns and which
// part of K the thread's sums are of; col0: the workgroup's first column; N; result: what C gets
// for a sum at m, n.

  let slot = slice * LANES + lane;
  partial[slot] = s0;
  if (ROWS > 1u) { partial[THREADS + slot] = s1; }
  if (ROWS > 2u) { partial[2u * THREADS + slot] = s2; }
  if (ROWS > 3u) { partial[3u * THREADS + slot] = s3; }
  if (ROWS > 4u) { partial[4u * THREADS + slot] = s4; }
  if (ROWS > 5u) { partial[5u * THREADS + slot] = s5; }
  if (ROWS > 6u) { partial[6u * THREADS + slot] = s6; }
  if (ROWS > 7u) { partial[7u * THREADS + slot] = s7; }
  workgroupBarrier();

  for (var i = thread; i < ROWS * 4u * LANES; i += THREADS) {
    let m = i / (4u * LANES);
    let x = i / LANES % 4u;
    let n = col0 + i % LANES * 4u + x;
    if (n < N) {
      var sum = Sums().x;
      for (var y = 0u; y < SLICES; y++) { sum += partial[m * THREADS + y * LANES + i % LANES][x]; }
      c[m * N + n] = result(sum, m, n);
    }
  }
