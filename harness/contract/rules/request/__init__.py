"""Rules about the body of a request. Rules about stored objects that it refers to are in `stored`."""
