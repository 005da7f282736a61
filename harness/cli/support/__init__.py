"""What the commands share: the app, exit codes, completion, child processes, options for a live API. No command is here."""
