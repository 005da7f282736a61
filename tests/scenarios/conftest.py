"""Every test here runs a real client, and everything the mock answered it is judged by the SDK's own models."""

import openai
import pytest

from tests.support.clients.strict import every_answer_conforms

__all__ = ["every_answer_conforms"]


@pytest.fixture
def client(openai_client: openai.OpenAI) -> openai.OpenAI:
    """Return the client of the openai package."""
    return openai_client
