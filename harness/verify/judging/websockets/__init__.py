"""Splits a recorded WebSocket into exchanges: a client event with the server events that answer it."""
