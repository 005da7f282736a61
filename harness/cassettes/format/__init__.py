"""The form of a recorded exchange, the format that is written, and the formats of other recorders."""
