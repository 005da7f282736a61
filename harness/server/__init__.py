"""The mock from bytes to answer: the whole of it without a network (`mock_api`), and its server (`asgi`).

What an endpoint does is in `endpoints`.
"""
