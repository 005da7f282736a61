"""A test's own scenario under what the API may do to its answers: `mock.explore`."""
