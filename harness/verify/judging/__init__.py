"""Judges one recorded exchange by the contract and by the mock; files and counts are above, in `harness.verify`."""
