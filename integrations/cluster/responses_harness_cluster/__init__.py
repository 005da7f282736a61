"""Servers that share their Worlds in Redis: the deployment that `serve --store` finds; see `deployment.py`."""
