"""What the agents of a Foundry project emit besides the items of OpenAI: calls of its own tools, steps of its workflows."""
