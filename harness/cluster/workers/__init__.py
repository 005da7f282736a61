"""Several processes behind one address: each key belongs to one process, which gets all connections of its clients."""
