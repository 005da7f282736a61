"""Items that agents of a Foundry project emit besides OpenAI's: calls of its own tools, steps of its workflows."""
