"""Overrides of the contract: derives them from recordings that contradict the mock, reads and writes their file."""
