"""Scripts read from YAML, JSON and Python, for files and the control plane; `harness.world.route` holds the turns."""
