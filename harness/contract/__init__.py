"""The contract of the API: schemas and rules that validate requests and answers, and report the first violation.

It neither answers requests nor stores anything.
"""
