"""Other people's servers of the API, held to the contract: `python -m tests.servers` makes the table of docs/servers.md."""
