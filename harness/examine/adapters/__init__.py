"""Ready adapters, one module a client."""
