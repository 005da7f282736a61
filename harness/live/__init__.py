"""The live API asked: about rules, and about recordings."""
