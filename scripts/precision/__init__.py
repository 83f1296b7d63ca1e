"""docs/precision.md: `convert` stores a report, `stored` reads it, `tables` and `page` write."""
