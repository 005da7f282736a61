"""Examines any server that claims to implement the API: what it refuses, accepts, answers and stores.

`questions` and `scenarios` define what is asked, `examine_server` asks it, `score` rates the answers. No
rules are defined here.
"""
