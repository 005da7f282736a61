"""Rules about `model` and what it can do: abilities, effort, sampling. Hosted tools are in `tool_definitions`."""
