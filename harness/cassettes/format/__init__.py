"""The shape of a recorded exchange, the format that is written, and those of other recorders; no recording, no replay."""
