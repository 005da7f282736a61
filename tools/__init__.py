"""What maintainers run in a checkout, `python -m tools.…`; no part of the wheel, and nothing in `harness` imports it."""
