"""Run cases in a worker process: the protocol, and the host's and the worker's side of it."""
