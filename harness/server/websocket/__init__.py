"""WebSocket connections to `/v1/responses`: the ASGI side, and the session without a network.

What a connection remembers is in `world.websocket_state`.
"""
