"""Requests to a server at a URL: HTTP, WebSockets, pacing, budget. What to ask is decided by its callers."""
