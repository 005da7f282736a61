"""The answers of a mock without a script; scripted ones are in `world.script`."""
