"""Compile kernels and run them on an open device; the only package that calls an engine."""
