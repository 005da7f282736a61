"""Recording and replay, in pytest and in front of any program."""
