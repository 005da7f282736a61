"""A server on a store says at its start what does not go together."""

from pathlib import Path

import pytest
from responses_harness_cluster.deployment import Cluster
from responses_harness_cluster.replicated_api import ReplicatedApi
from responses_harness_cluster.shared_app import SharedApp

from harness.core.errors import ConfigError
from harness.core.limits import Limits
from harness.server.control_plane.access import LOOPBACK_ACCESS
from harness.server.deployment import find_deployment
from harness.server.http_server import App

SHARED = Cluster("redis://localhost:6379/0")


@pytest.mark.parametrize("store", ["redis://localhost:6379/0", "rediss://db/0", "unix:///run/redis"])
def test_the_server_finds_it_by_the_scheme_of_a_store(store: str) -> None:
    assert find_deployment(store) is Cluster


def test_another_scheme_is_refused_without_its_password() -> None:
    with pytest.raises(ConfigError) as refused:
        find_deployment("mysql://u:p@db")
    assert str(refused.value) == "--store db: pass `memory`, or redis://HOST:PORT/NUMBER."


@pytest.mark.parametrize("script", [None, Path("script.yaml")])
def test_what_goes_together_is_taken(script: Path | None) -> None:
    SHARED.check(script)
    Cluster("unix:///run/redis", "ci").check(script)


def test_a_python_script_is_bound_to_one_process() -> None:
    with pytest.raises(ConfigError, match=r"--store with --script s\.py: a Python script is bound to one process"):
        SHARED.check(Path("s.py"))


def test_its_app_bounds_the_worlds_itself() -> None:
    assert SHARED.api_type is ReplicatedApi
    limits = SHARED.limits_of_mock(Limits(exchanges=5, responses=6, worlds=10))
    assert limits == Limits(exchanges=5, responses=6, worlds=None)


def test_a_store_is_tried_before_anything_is_served() -> None:
    with pytest.raises(ConfigError, match=r"--store redis://127\.0\.0\.1:1/0: .*Start it"):
        Cluster("redis://127.0.0.1:1/0").make_app(ReplicatedApi(), LOOPBACK_ACCESS)


def test_servers_compare_files_by_what_is_in_them(tmp_path: Path) -> None:
    from responses_harness_cluster.server_record import digest_settings

    one, same, other = (tmp_path / name for name in ("one.yaml", "same.yaml", "other.yaml"))
    for file, text in ((one, "- hi"), (same, "- hi"), (other, "- ho")):
        file.write_text(text)
    digests = [digest_settings({"script": file, "zdr": True}) for file in (one, same, other)]
    assert digests[0] == digests[1] != digests[2]
    assert digests[0].keys() == {"--script", "--zdr"}
    assert digests[0]["--zdr"] == "True"


def test_an_app_that_shares_is_one_of_the_server() -> None:
    assert issubclass(SharedApp, App)
