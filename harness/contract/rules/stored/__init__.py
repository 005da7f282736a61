"""Rules about what the server has stored: responses, conversations, threads, runs, files, agents."""
