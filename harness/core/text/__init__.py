"""Texts for people: short, escaped, without secrets, in the reader's language. What they say is decided elsewhere."""
