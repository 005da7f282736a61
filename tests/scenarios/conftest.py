"""Every test here runs a real client, and everything the mock answered it is judged by the SDK's own models."""

from tests.support.clients.strict import every_answer_conforms

__all__ = ["every_answer_conforms"]
