// Add the products of one k: eight rows of A by eight columns of B. Stands in a block of its own,
// inside the loop over the staged k.
//
// Expects: what thread.wgsl, stage_a.wgsl and sums_8x8.wgsl give; i: the staged k; v0, v1: B's
// columns there; product: a value of A times a vector of B.

        let lo = tile_a[i * A_STRIDE + lid.y];
        let hi = tile_a[i * A_STRIDE + lid.y + 8u];
        s00 += product(lo.x, v0); s01 += product(lo.x, v1);
        s10 += product(lo.y, v0); s11 += product(lo.y, v1);
        s20 += product(lo.z, v0); s21 += product(lo.z, v1);
        s30 += product(lo.w, v0); s31 += product(lo.w, v1);
        s40 += product(hi.x, v0); s41 += product(hi.x, v1);
        s50 += product(hi.y, v0); s51 += product(hi.y, v1);
        s60 += product(hi.z, v0); s61 += product(hi.z, v1);
        s70 += product(hi.w, v0); s71 += product(hi.w, v1);
