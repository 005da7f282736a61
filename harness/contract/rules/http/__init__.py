"""Rules about the request as HTTP or WebSocket traffic: keys, addresses, headers, transport.

What its body says is `request`.
"""
