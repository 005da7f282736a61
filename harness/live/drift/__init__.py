"""Drift: recorded requests sent to the live API again and the answers compared. Recordings are never changed."""
