"""Ready adapters, one module a client; `ADAPTERS` in harness/examine/adapter.py lists them by name."""
