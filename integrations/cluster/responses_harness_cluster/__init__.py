"""Servers that share their Worlds in Redis: the deployment that `responses-harness serve --store` finds; see `deployment.py`."""
