"""The API as traffic: its addresses and dialects, bodies and their encodings. What the bodies say of models and tools is above."""
