"""Judges single recorded exchanges by the contract and by the mock; `harness.verify` handles files and counts."""
