"""Describe shapes, paths, adapters, cases and results: frozen data, standard library only."""
