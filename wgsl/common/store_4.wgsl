// Store four columns of a row of C, as far as N.
//
// Expects: values: vec4f; m < M: the row; n: the first column; N.

      let at = m * N + n;
      if (n < N) { c[at] = values.x; }
      if (n + 1u < N) { c[at + 1u] = values.y; }
      if (n + 2u < N) { c[at + 2u] = values.z; }
      if (n + 3u < N) { c[at + 3u] = values.w; }
