"""The pytest plugin: fixtures, marks, options, reports of a run; what they do lives in the packages above.

Nothing but pytest is imported before the first use.
"""
