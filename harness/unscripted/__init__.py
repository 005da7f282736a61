"""The answers of a mock without a script: each satisfies what its request demands, with no content of its own.

Scripted answers are in `world.script`.
"""
