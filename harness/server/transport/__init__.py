"""HTTP below the ASGI app: connections, uvicorn's server, limits, large uploads, delayed and cut answers.

What a request means is decided in `mock_api`.
"""
