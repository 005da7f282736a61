"""The model of a request for which nothing is scripted: what it reads, which tool it calls, with what, and what it says.

Scripted answers are in `world.script`.
"""
