"""The objects of the API other than responses: files, vector stores, assistants, threads, agents.

Their endpoints are in `harness.endpoints`.
"""
