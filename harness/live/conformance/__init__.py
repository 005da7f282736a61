"""Examination of any server that claims to speak the API: what it refuses, accepts, answers and stores.

`questions` and `scenario` say what is asked, `run` asks it, `grade` and `score` rate the answers; no rule is defined here.
"""
