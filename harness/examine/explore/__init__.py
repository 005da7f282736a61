"""Runs a test's own scenario under variations of the API's answers: `mock.explore`."""
