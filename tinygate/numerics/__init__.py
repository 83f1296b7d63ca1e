"""Compute references, errors, tolerances and checks with numpy; no device, clock or file."""
