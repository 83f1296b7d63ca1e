// Store a thread's eight rows of eight columns, as far as M and N. Stands at the end of `main`.
//
// One loop for all, as in row_of_sums.wgsl.
//
// Expects: what thread.wgsl and sums_8x8.wgsl give; M, N.

  if (!inside) { return; }
  for (var i = 0u; i < 16u; i++) {
    let r = i / 2u;
    var v = s00;
    var u = s01;
    if (r == 1u) { v = s10; u = s11; }
    if (r == 2u) { v = s20; u = s21; }
    if (r == 3u) { v = s30; u = s31; }
    if (r == 4u) { v = s40; u = s41; }
    if (r == 5u) { v = s50; u = s51; }
    if (r == 6u) { v = s60; u = s61; }
    if (r == 7u) { v = s70; u = s71; }
    if (i % 2u == 1u) { v = u; }
    let m = row + r % 4u + r / 4u * 32u;
    let n = col + i % 2u * 4u;
    if (m < M) {
      let values = vec4f(v);
      //!include common/store_4.wgsl
    }
  }
