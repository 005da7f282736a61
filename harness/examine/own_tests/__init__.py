"""Cases as tests in pytest: what `harness examine --write-test` writes, and what such a test calls."""
