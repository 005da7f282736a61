"""Servers that share their Worlds; start at `cluster.py`."""
