"""Rules about the body of a request, in packages by member. Rules about stored objects that it refers to are in `stored`.

The capabilities of each model are data, in `api/model_facts.json`, read by `api/models.py`.
"""
