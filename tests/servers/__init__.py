"""Other people's servers of the API, held to the contract: `python -m tests.servers` writes docs/results/servers.md."""
