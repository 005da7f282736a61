"""Rules about the request as HTTP or WebSocket traffic: keys, paths, headers, transport.

Rules about its body are in `request`.
"""
