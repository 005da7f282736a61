"""The viewer: what happened in a run, as the data of one page, of text for terminals, and of trace files."""
