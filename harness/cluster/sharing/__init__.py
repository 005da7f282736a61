"""One state behind many servers: a log of requests in Redis, from which each server builds the same Worlds."""
