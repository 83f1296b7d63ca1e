// Eight sums, a vector of columns each. Stands at the top of an entry point.
//
// Named vectors and not an array, because a compiler that does not unroll keeps an indexed array in
// memory.
//
// Expects: Sums, the vector's type.
// Gives: s0 to s7, all zero.

  var s0 = Sums();
  var s1 = Sums();
  var s2 = Sums();
  var s3 = Sums();
  var s4 = Sums();
  var s5 = Sums();
  var s6 = Sums();
  var s7 = Sums();
