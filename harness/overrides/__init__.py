"""Overrides of the contract: derived from recordings that contradict the mock, read from and written to a file."""
