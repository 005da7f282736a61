"""Examines any server that claims to implement the API: what it refuses, accepts, answers and stores.

`questions` and `scenario` define what is asked, `examine_server` asks it, `grade` and `score` rate the answers. No
rules are defined here.
"""
