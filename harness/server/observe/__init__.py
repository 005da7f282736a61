"""Monitoring of a server: health, metrics, access log, spans.

Only health is always available; the others cost nothing unless they are switched on.
"""
