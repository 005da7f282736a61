"""Rules about stored objects: responses, conversations, threads, runs, files, agents."""
