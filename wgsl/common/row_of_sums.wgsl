// Pick one of eight sums by its number. Stands in a loop over them: stores share a loop because
// lavapipe expands each memory access in the text for every lane, and that is its compile time.
//
// Expects: r: the number; s0 to s7.
// Gives: v.

    var v = s0;
    if (r == 1u) { v = s1; }
    if (r == 2u) { v = s2; }
    if (r == 3u) { v = s3; }
    if (r == 4u) { v = s4; }
    if (r == 5u) { v = s5; }
    if (r == 6u) { v = s6; }
    if (r == 7u) { v = s7; }
