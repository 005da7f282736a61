"""Text for readers: shortened, escaped, without secrets, in the reader's language; callers decide the content."""
