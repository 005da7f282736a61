"""A recorded WebSocket as exchanges: an event of the client with the events that answer it."""
