"""Recorded exchanges held to the contract: what the mock would say, and what a recording cannot show."""
