"""The mock from bytes to answer: all of it without a network (`mock_api`), and its server (`asgi`).

What each endpoint does is in `endpoints`.
"""
