"""Rules about `input`: the form of items, ids and media, and which items belong together."""
