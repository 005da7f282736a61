"""Broken variants of the reference client, each caught by one case of its area alone."""
