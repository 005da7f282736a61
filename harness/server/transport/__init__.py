"""HTTP below the ASGI app: uvicorn's protocol and server, bounds, large uploads, delayed and cut answers.

What a request means is in `mock_api`.
"""
