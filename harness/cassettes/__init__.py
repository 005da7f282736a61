"""Recordings: their format, scrubbing, recording and replay. Judging them is `verify`."""
