"""Examine a client: a catalogue of what the API may do to any client, run against one, with a verdict for each case.

`case.py` says what a case is, `cases/` are all of them. A client is driven by an adapter (`adapter.py`) in a process of its
own: it reads a task as a line of JSON (`task.py`) and writes its outcome as one (`outcome.py`).
"""
