"""Response objects and their event streams, written and read. What a response says is decided elsewhere."""
