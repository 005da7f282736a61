"""Changes single expressions of `harness`, and lists what no quick test notices: for maintainers in a checkout."""
