"""What `POST /responses` does between its request and its answer."""
