"""Everything that sends requests to a server at a URL, and the inventory of what was recorded. No server runs here."""
