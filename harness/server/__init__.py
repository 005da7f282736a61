"""The mock from bytes to answer, over HTTP and WebSocket, with its control plane.

What an endpoint does is in `endpoints`.
"""
