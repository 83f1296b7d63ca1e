// Add the products of four columns at one k, row by row. Stands in the loop over K of `matvec`.
//
// Expects: ROWS; s0 to s7; v: B's columns; k; K: how many values a row of A has; Activation: the
// type that A is rounded to; product: a value of A times a vector of B.

      s0 += product(Activation(a[k]), v);
      if (ROWS > 1u) { s1 += product(Activation(a[K + k]), v); }
      if (ROWS > 2u) { s2 += product(Activation(a[2u * K + k]), v); }
      if (ROWS > 3u) { s3 += product(Activation(a[3u * K + k]), v); }
      if (ROWS > 4u) { s4 += product(Activation(a[4u * K + k]), v); }
      if (ROWS > 5u) { s5 += product(Activation(a[5u * K + k]), v); }
      if (ROWS > 6u) { s6 += product(Activation(a[6u * K + k]), v); }
      if (ROWS > 7u) { s7 += product(Activation(a[7u * K + k]), v); }
