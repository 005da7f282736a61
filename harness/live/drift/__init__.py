"""Recordings sent to the live API again, and what has changed since."""
