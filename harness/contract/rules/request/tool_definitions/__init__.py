"""Rules about `tools` and `tool_choice`: functions and their schemas, deferred and hosted tools. Calls and outputs are in `input_items`."""
