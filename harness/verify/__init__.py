"""`harness verify`: reads the recordings of any recorder, judges every exchange in them, and writes the outcome.

Also the examples of rules and the evidence for them. The formats of recordings are in `cassettes`; whatever sends requests
to a server is in `live`.
"""
