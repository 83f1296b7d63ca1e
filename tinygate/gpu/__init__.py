"""Compile kernels and run them on an open device; the only room that reaches an engine."""
