"""Cross the process boundary: what host and worker say to each other, and how each side says it."""
