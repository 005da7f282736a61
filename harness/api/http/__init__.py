"""The API as traffic: addresses, dialects, bodies, encodings. What bodies say of models and tools is in `harness.api`."""
