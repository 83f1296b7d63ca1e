"""Run one case on one open device and judge it. Everything here runs in the worker process."""
