"""Several processes behind one address: each key belongs to one of them, which gets the connections of its clients."""
