"""The resources of a Foundry project as the API shows them: agents and what agents use."""
