"""Cassettes: what a take is, the one form that is written, and the forms of others that are read."""
