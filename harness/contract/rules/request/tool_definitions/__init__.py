"""Rules about `tools` and `tool_choice`: functions, schemas, deferred and hosted tools; calls are in `input_items`."""
