// Add the products of one k, or of one word of several: eight rows of A by four columns of B.
// Stands in a block of its own.
//
// Expects: what thread.wgsl and sums_8.wgsl give; i: the staged k; tile_a, A_STRIDE: four rows to a
// vector; tile_b, B_STRIDE: four columns to a vector; product: a value of A times a vector of B.

        let v = tile_b[i * B_STRIDE + lid.x];
        let lo = tile_a[i * A_STRIDE + lid.y];
        let hi = tile_a[i * A_STRIDE + lid.y + 8u];
        s0 += product(lo.x, v);
        s1 += product(lo.y, v);
        s2 += product(lo.z, v);
        s3 += product(lo.w, v);
        s4 += product(hi.x, v);
        s5 += product(hi.y, v);
        s6 += product(hi.z, v);
        s7 += product(hi.w, v);
