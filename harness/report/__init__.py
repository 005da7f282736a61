"""What a run found, as data and as text: failing tests, coverage of the rules, files.

What to find is decided elsewhere.
"""
