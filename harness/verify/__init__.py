"""`responses-harness verify`: reads recordings of any recorder, judges every exchange in them, and reports the outcome.

It also contains the examples of rules. The formats of recordings are in `cassettes`; whatever
sends requests to a server is in `live`.
"""
