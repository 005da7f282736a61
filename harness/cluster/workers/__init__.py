"""Several processes behind one address: each key and all connections of its clients belong to one process."""
