"""The examples of the rules sent to the live API, and what it answered kept as evidence."""
