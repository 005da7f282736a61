"""The API as traffic: addresses, dialects, bodies, encodings. The models and tools in bodies are in `harness.api`."""
