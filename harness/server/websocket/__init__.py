"""WebSocket connections to `/v1/responses`: `connection.py` is their ASGI side, `session.py` answers the events of one.

The state of a connection is in `world.websocket_state`.
"""
