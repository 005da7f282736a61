"""Rules about `input`: the form of its items, their ids and media, what of them belongs together."""
