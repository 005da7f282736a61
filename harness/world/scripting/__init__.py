"""Scripts in YAML, JSON and Python, for files and the control plane; the turns are in `harness.world.route`."""
