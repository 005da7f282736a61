"""Servers that share their Worlds in Redis: the deployment that `harness serve --store` finds; see `deployment.py`."""
