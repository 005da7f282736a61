"""Rules about the body of a request, in packages by member. Rules about stored objects that it refers to are in `stored`."""
