"""Draw the seeded operands of every input family."""
