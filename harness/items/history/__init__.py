"""Items in a row: the chain before a request, the transcript of a model's input. Kinds of items are in `harness.items`."""
