"""Texts for people: short, escaped, without secrets, worded for the reader's language. What they say is decided elsewhere."""
