"""The tests of endpoints ask a mock of their own, without a network: OpenAI's API, its Assistants, or a Foundry project."""

import pytest

from tests.support.foundry import ProjectClient
from tests.support.in_process import Client
from tests.support.threads import Desk


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def project() -> ProjectClient:
    return ProjectClient()


@pytest.fixture
def desk() -> Desk:
    return Desk(name="Ann", instructions="Be brief.")
