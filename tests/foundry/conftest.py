"""The tests of a Foundry project ask a mock of their own, without a network."""

import pytest

from tests.support.foundry import ProjectClient


@pytest.fixture
def project() -> ProjectClient:
    return ProjectClient()
