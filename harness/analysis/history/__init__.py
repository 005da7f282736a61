"""What a client had sent and received before each request of a journal; `losses` compares the request with it."""
