"""The pytest plugin: fixtures, marks, options, reports of a run. Nothing but pytest is imported before it is used."""
