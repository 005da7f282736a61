"""Reports: the text of a failing test, coverage of the API, a run's report and its file formats.

What counts as a finding is decided in `contract` and `analysis`; pytest hooks and commands are elsewhere.
"""
