"""What a client had said and heard before each request of a journal; `losses` compares it with what the request says."""
