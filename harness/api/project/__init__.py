"""The resources of a Foundry project as its API shows them: agents and what they use."""
