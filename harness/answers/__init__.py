"""Response objects, runs and their event streams, written and read. What the model says is decided by the script."""
