"""One state behind many servers: a log of requests in Redis, from which each of them makes the same Worlds."""
