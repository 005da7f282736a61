"""The viewer: what happened in a run, as the data of a page, as text for terminals, and as trace files."""
