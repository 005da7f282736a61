"""Response objects, runs and their event streams, written and read; the script decides what the model says."""
