"""Write docs/precision.md: `convert` stores a report, `stored` reads it, `page` writes tables."""
