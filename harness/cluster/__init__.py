"""Servers of several processes: workers behind one port, servers that share their Worlds; `cluster.py` is the way in."""
