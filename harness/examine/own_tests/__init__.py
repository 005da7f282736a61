"""Cases as pytest tests: what `harness examine --write-test` writes, and what such a test calls."""
