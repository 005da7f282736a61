"""WebSocket connections to `/v1/responses`: the ASGI side, and the session without a network.

The state of a connection is in `world.websocket_state`.
"""
