"""Shared parts of the commands: the app, exit codes, completion, child processes, options for a live API."""
