"""WebSocket connections to `/v1/responses`: `connection.py` accepts, sends and closes over ASGI, `session.py` answers events.

The state of a connection is in `world.websocket_state`.
"""
