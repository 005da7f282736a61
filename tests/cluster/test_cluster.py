"""A server on a store says at its start what does not go together."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from harness.cluster.cluster import Cluster
from harness.cluster.sharing.replicated_api import ReplicatedApi
from harness.cluster.sharing.shared_app import SharedApp
from harness.core.errors import ConfigError
from harness.core.limits import Limits
from harness.server.asgi import App
from harness.server.control_plane.access import LOOPBACK_ACCESS
from harness.server.mock_api import MockApi

REDIS = "redis://localhost:6379/0"
ONE, SHARED = Cluster(), Cluster(store=REDIS)


@pytest.mark.parametrize("cluster", [ONE, SHARED, Cluster(store="unix:///run/redis", prefix="ci")])
@pytest.mark.parametrize("script", [None, Path("script.yaml")])
def test_what_goes_together_is_taken(cluster: Cluster, script: Path | None) -> None:
    cluster.check(script)


@pytest.mark.parametrize(
    ("cluster", "script", "message"),
    [
        (Cluster(prefix="ci"), None, "--store-prefix applies only to a shared --store, redis://HOST:PORT/NUMBER."),
        (Cluster(store="mysql://u:p@db"), None, "--store db: pass `memory`, or redis://HOST:PORT/NUMBER."),
        (Cluster(store=REDIS), "s.py", "--store with --script s.py: a Python script is bound to one process"),
    ],
    ids=["prefix without a store", "no such store", "Python in a store"],
)
def test_what_does_not_go_together_is_said(cluster: Cluster, script: str | None, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        cluster.check(Path(script) if script else None)
    assert str(refused.value).startswith(message)


def test_a_store_needs_an_extra_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("harness.core.extras.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r'--store redis://… needs redis: pip install "responses-harness\[cluster\]"'):
        SHARED.check(None)
    ONE.check(None)


@pytest.mark.parametrize(("cluster", "api_type"), [(ONE, MockApi), (SHARED, ReplicatedApi)], ids=str)
def test_each_kind_of_server_has_its_mock(cluster: Cluster, api_type: type[MockApi]) -> None:
    assert cluster.api_type is api_type


@pytest.mark.parametrize(("cluster", "worlds", "kept"), [(ONE, 10, 10), (ONE, None, None), (SHARED, 10, None)], ids=str)
def test_the_app_of_a_store_bounds_the_worlds_itself(cluster: Cluster, worlds: int | None, kept: int | None) -> None:
    limits = cluster.limits_of_mock(Limits(exchanges=5, responses=6, worlds=worlds))
    assert limits == Limits(exchanges=5, responses=6, worlds=kept)


def test_a_server_without_a_store_has_the_app_of_any_other() -> None:
    assert type(ONE.make_app(MockApi(), LOOPBACK_ACCESS)) is App


def test_a_store_is_tried_before_anything_is_served() -> None:
    with pytest.raises(ConfigError, match=r"--store redis://127\.0\.0\.1:1/0: .*Start it"):
        Cluster(store="redis://127.0.0.1:1/0").make_app(ReplicatedApi(), LOOPBACK_ACCESS)


def test_servers_compare_files_by_what_is_in_them(tmp_path: Path) -> None:
    from harness.cluster.sharing.server_record import digest_settings

    one, same, other = (tmp_path / name for name in ("one.yaml", "same.yaml", "other.yaml"))
    for file, text in ((one, "- hi"), (same, "- hi"), (other, "- ho")):
        file.write_text(text)
    digests = [digest_settings({"script": file, "zdr": True}) for file in (one, same, other)]
    assert digests[0] == digests[1] != digests[2]
    assert digests[0].keys() == {"--script", "--zdr"}
    assert digests[0]["--zdr"] == "True"


def test_an_app_that_shares_is_one_of_the_server() -> None:
    assert issubclass(SharedApp, App)
