"""Scripts from files and over HTTP: YAML, JSON, Python. The script itself is `world.script`."""
