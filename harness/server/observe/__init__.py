"""The server seen from outside: health, metrics, access log, spans.

Only health is always there; without the others no request costs more.
"""
