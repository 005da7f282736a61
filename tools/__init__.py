"""Programs for maintainers in a checkout, `python -m tools.…`; not in the wheel, and never imported by `harness`."""
