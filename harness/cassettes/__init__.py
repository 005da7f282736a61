"""Recordings: their format, scrubbing, recording and replay. They are judged in `verify`, not here."""
