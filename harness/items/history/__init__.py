"""Items in a row: the chain before a request, the transcript of a model's input. The kinds of items are above."""
