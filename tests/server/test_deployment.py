"""Where a server keeps its Worlds, and what it says to a store that nothing installed provides."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from harness.core.limits import Limits
from harness.server import deployment
from harness.server.control_plane.access import LOOPBACK_ACCESS
from harness.server.deployment import Deployment, find_deployment
from harness.server.http_server import App
from harness.server.mock_api import MockApi


class Elsewhere(Deployment):
    """What a distribution would provide."""


def provide(monkeypatch: pytest.MonkeyPatch, *schemes: str) -> None:
    entries = [EntryPoint(scheme, f"{__name__}:Elsewhere", deployment.GROUP) for scheme in schemes]
    monkeypatch.setattr(deployment, "entry_points", lambda group: entries)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Elsewhere)


def test_worlds_are_kept_in_memory() -> None:
    kept = find_deployment("memory")()
    kept.check(Path("script.py"))
    limits = Limits(exchanges=5, responses=6, worlds=10)
    assert (kept.store, kept.limits_of_mock(limits), kept.api_type) == ("memory", limits, MockApi)
    assert type(kept.make_app(MockApi(), LOOPBACK_ACCESS)) is App


def test_a_prefix_needs_a_store() -> None:
    with pytest.raises(ConfigError, match="--store-prefix applies only to a shared --store"):
        Deployment(prefix="ci").check(None)


def test_a_distribution_provides_the_store_of_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    provide(monkeypatch, "redis")
    assert find_deployment("redis://localhost/0") is Elsewhere


def test_a_store_without_a_distribution_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    provide(monkeypatch)
    with pytest.raises(ConfigError) as refused:
        find_deployment("redis://user:secret@db/0")
    assert "--store redis://… needs another distribution: pip install responses-harness-cluster" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("store", "shown"), [("mysql://u:p@db", "db"), ("redis", "redis"), ("u:p@db", "db")])
def test_what_is_no_store_is_refused_without_its_password(
    store: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide(monkeypatch, "redis")
    with pytest.raises(ConfigError) as refused:
        find_deployment(store)
    assert str(refused.value) == f"--store {shown}: pass `memory`, or redis://HOST:PORT/NUMBER."
