"""The objects of the API that are no responses: files, vector stores, assistants, threads, agents.

Their endpoints are in `endpoints`.
"""
