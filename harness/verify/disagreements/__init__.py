"""Recordings against the mock: where they disagree, and the contract of one's own that would have them agree."""
