"""HTTP below the ASGI app: connections, uvicorn's server, bounds, large uploads, delayed and cut answers.

What a request means is in `mock_api`.
"""
