"""The story as a case of the catalogue: what was said before stands in each request once."""

import pytest
from catalogue import meets

pytestmark = pytest.mark.harness(refusals=["outside_the_api", "unknown_url"])  # hermes-agent tries many paths


def test_case(mock, server, monkeypatch):
    monkeypatch.setenv("SERVER_UNDER_TEST", f"{server.base_url} {server.api_key}")
    meets(mock, "state/replay", "plain,replay", "hermes_adapter:ServedAdapter")
