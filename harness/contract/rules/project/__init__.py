"""Rules about a Foundry project: its agents, its resources, and responses behind an agent."""
