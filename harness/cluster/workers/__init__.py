"""Several processes behind an address: each key belongs to a process, and its clients' connections go there."""
