"""Servers with several processes: workers behind one port, servers that share their Worlds; start at `cluster.py`."""
