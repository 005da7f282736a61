"""Rules about `model` and what it can do: abilities, effort, sampling. Hosted tools are in `tool_definitions`.

The capabilities of each model are data, in `api/model_facts.json`, read by `api/models.py`.
"""
