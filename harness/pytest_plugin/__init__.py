"""The pytest plugin: fixtures, markers, options, reports of a run; what they do is implemented in other packages.

Nothing but pytest is imported before the first use.
"""
