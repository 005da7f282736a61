"""Everything that asks a server at a URL, and the inventory of what was recorded so. No server runs here."""
