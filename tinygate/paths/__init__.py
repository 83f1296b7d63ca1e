"""Collect fast paths from the built-in table, manifests and plug-ins; standard library only."""
