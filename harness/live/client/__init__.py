"""Clients for a server at a URL: HTTP, WebSockets, pacing, budget. They decide how requests are sent, never which."""
