"""Clients of a server at a URL: HTTP, WebSockets, pacing, budget. They decide how a request is sent, never which."""
