// Stage BLOCK_K columns of A in tile_a, rounded to Activation. Stands in the loop over K of a
// `main` with 128 threads. A barrier has to follow.
//
// An index past the edge is clamped: past K the value becomes 0, past M what is computed from it is
// never stored.
//
// Expects: what tile_a.wgsl gives; M, K, row0, thread; k0: the first k.

    let ak = thread % BLOCK_K;
    let groups_m = min(TILE_M / 4u, (M - row0 + 3u) / 4u);
    let live = k0 + ak < K;
    let ka = min(k0 + ak, K - 1u);
    for (var g = thread / BLOCK_K; g < groups_m; g += 8u) {
      let r = row0 + g * 4u;
      let v = vec4f(
        a[r * K + ka],
        a[min(r + 1u, M - 1u) * K + ka],
        a[min(r + 2u, M - 1u) * K + ka],
        a[min(r + 3u, M - 1u) * K + ka],
      );
      tile_a[ak * A_STRIDE + g] = vec4<Activation>(select(vec4f(), v, live));
    }
