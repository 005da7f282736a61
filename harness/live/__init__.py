"""Everything that sends requests to a server at a URL. No server runs here."""
