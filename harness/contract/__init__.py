"""Would the API take this request, does this answer conform: schemas, rules, first violation.

It never answers and stores nothing.
"""
