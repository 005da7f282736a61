"""Rules about what the body of a request says. What it refers to on the server is `stored`."""
