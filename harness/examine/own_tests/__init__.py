"""Cases as pytest tests: what `responses-harness examine --write-test` writes, and what such a test calls."""
