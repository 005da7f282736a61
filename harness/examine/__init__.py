"""Examines a client: runs a catalogue of what the API may do against it, with a verdict for each case.

`case.py` defines what a case is, `cases/` has all of them. An adapter (`adapter.py`) drives the client in a process of
its own: it reads tasks as lines of JSON (`task.py`) and writes their outcomes likewise (`outcome.py`).
"""
