"""The handle that a test holds: what it offers is what the documentation shows, and nothing of it is its own."""

import subprocess
import sys

import pytest

import harness
from harness.api.models import Model
from harness.core.errors import ConfigError
from harness.world.journal_views import JournalViews
from harness.world.mock import Mock
from harness.world.world import World
from tests.support.in_process import Client

DOCUMENTED = {
    *("script", "when", "mcp", "gate", "organization", "add_model", "learn", "refuses"),
    *("route", "file", "vector_store", "container", "container_file"),
    *("agent", "coding_agent", "connection", "deployment", "index", "dataset", "memory_store", "skill", "toolbox"),
    *("automatic", "citations", "advance", "skip"),
    *("webhooks", "deliveries", "delivered"),
    *("exchanges", "replies", "said", "calls", "approvals", "lanes", "flow", "losses", "explore"),
    *("agents", "path", "usage", "cache", "retries", "allows"),
    *("base_url", "api_key", "azure_endpoint", "project_endpoint", "world"),
}


def test_it_offers_what_is_documented_and_no_more() -> None:
    assert set(dir(Mock())) == DOCUMENTED
    own = {**vars(Mock), **vars(JournalViews)}
    assert {name for name in own if not name.startswith("_")} == DOCUMENTED


def test_an_old_name_warns_and_does_the_same() -> None:
    mock = Mock(World())
    with pytest.warns(DeprecationWarning, match=r"mock\.said is now mock\.replies") as warned:
        assert list(mock.said) == list(mock.replies)
    assert warned[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"mock\.learn is now mock\.add_model"):
        mock.learn(Model("own-model", "own-model-2026-11-01"))
    assert "own-model" in mock.world.models


def test_what_is_set_on_it_is_set_in_its_world() -> None:
    mock = Mock(World())
    mock.automatic, mock.citations = False, "delta"
    assert (mock.world.automatic, mock.world.citations) == (False, "delta")


def test_a_misspelt_setting_is_an_error() -> None:
    with pytest.raises(AttributeError):
        Mock().automatik = False


def test_a_value_that_a_setting_has_not_is_an_error() -> None:
    with pytest.raises(ConfigError, match="citations = 'deltas': pass one of 'both', 'delta', 'completed'"):
        Mock().citations = "deltas"
    with pytest.raises(ConfigError, match="automatic = 'no': use True or False"):
        Mock().automatic = "no"


def test_its_type_is_imported_from_harness_when_it_is_first_named() -> None:
    assert (harness.Mock, harness.World) == (Mock, World)
    program = "import sys, harness; print([name for name in sys.modules if name.startswith('harness.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["models", "unlisted", "unreachable", "blocked"])
def test_a_text_is_no_set_of_texts(name: str) -> None:
    told = rf"^organization\({name}='gpt-4\.1'\): pass a set of strings, \{{'gpt-4\.1'}}\.$"
    with pytest.raises(ConfigError, match=told):
        Mock().organization(**{name: "gpt-4.1"})


def test_claims_that_do_not_hold_are_kept_until_they_are_read() -> None:
    client = Client()
    client.ask()
    mock = client.mock
    assert str(mock.path) == 'agent 1 → "ok"'
    assert mock.calls.times(0)
    claims = [mock.calls.times(number) for number in (1, 2)]
    assert list(mock.world.false_claims) == claims
    assert not claims[0]
    last = mock.calls.times(3)
    assert list(mock.world.false_claims) == [claims[1], last]
    assert "the path: agent 1" in str(last)
