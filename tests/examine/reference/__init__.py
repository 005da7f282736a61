"""A client that meets every case, and variants of it that are broken in one way each."""
