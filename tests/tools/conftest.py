"""The key of the live API is in the environment, for the tests that ask for it."""

from tests.support.servers.live_api import live_key

__all__ = ["live_key"]
