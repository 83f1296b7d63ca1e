// The sums of eight rows, two vectors of four columns each. Stands at the top of `main`.
//
// Named vectors and not an array, as in sums_8.wgsl.
//
// Expects: Sums, the vectors' type.
// Gives: s00 to s71, row and vector, all zero.

  var s00 = Sums(); var s01 = Sums();
  var s10 = Sums(); var s11 = Sums();
  var s20 = Sums(); var s21 = Sums();
  var s30 = Sums(); var s31 = Sums();
  var s40 = Sums(); var s41 = Sums();
  var s50 = Sums(); var s51 = Sums();
  var s60 = Sums(); var s61 = Sums();
  var s70 = Sums(); var s71 = Sums();
