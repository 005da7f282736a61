"""A package that only an extra brings is asked for when it is used."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

from harness.cli.support.observers import check_observers
from harness.core.errors import ConfigError
from harness.core.installation import install_command, missing_extra, require_extra


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.core.installation.find_spec", lambda _: None)


CameFrom = Callable[..., None]


@pytest.fixture
def came_from(monkeypatch: pytest.MonkeyPatch) -> CameFrom:
    """Sets from where the distribution was installed: the content of its `direct_url.json`, if it has one."""

    def come_from(origin: dict[str, Any] | None, installer: str = "pip\n") -> None:
        files = {"INSTALLER": installer, "direct_url.json": origin and json.dumps(origin)}
        # A backport of `importlib.metadata`, where one is installed, finds distributions of a class of its own.
        monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(read_text=files.get))

    return come_from


def test_the_message_says_what_needs_which_package_and_how_to_install_it(came_from: CameFrom) -> None:
    came_from(None)
    told = '--tls needs cryptography: pip install "responses-harness[tls]"'
    assert str(missing_extra("--tls", "cryptography", "tls")) == told


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, 'pip install "responses-harness[tls]"'),
        ({"url": "file:///src/a%20b", "dir_info": {}}, 'pip install "/src/a b[tls]"'),
        ({"url": "file:///C:/src", "dir_info": {}}, 'pip install "C:/src[tls]"'),
        ({"url": "file:///src", "dir_info": {"editable": True}}, 'pip install -e "/src[tls]"'),
        ({"url": "file:///mono", "dir_info": {}, "subdirectory": "mock"}, 'pip install "/mono/mock[tls]"'),
        ({"url": "file:///dist/x.whl", "archive_info": {"hash": "…"}}, 'pip install "/dist/x.whl[tls]"'),
        (
            {"url": "https://host/x.whl", "archive_info": {}},
            'pip install "responses-harness[tls] @ https://host/x.whl"',
        ),
        (
            {
                "url": "https://host/x.git",
                "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": "1a2b"},
            },
            'pip install "responses-harness[tls] @ git+https://host/x.git@1a2b"',
        ),
        (
            {"url": "file:///x", "vcs_info": {"vcs": "git", "commit_id": "1a2b"}, "subdirectory": "mock"},
            'pip install "responses-harness[tls] @ git+file://localhost/x@1a2b#subdirectory=mock"',
        ),
    ],
)
def test_an_extra_is_installed_from_where_the_distribution_came(
    origin: dict[str, Any] | None, command: str, came_from: CameFrom
) -> None:
    came_from(origin)
    assert install_command("tls") == command
    came_from(origin, installer="uv\n")
    assert install_command("tls") == f"uv {command}"


def test_without_a_distribution_the_name_is_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is imported from a folder on PYTHONPATH."""
    monkeypatch.setattr(metadata.Distribution, "discover", lambda **_: iter(()))
    assert install_command("tls") == 'pip install "responses-harness[tls]"'


def test_an_installed_package_is_no_error() -> None:
    require_extra("this test", "pytest", "dev")
    require_extra("this test", "the standard library", "dev", "json", "zlib")


def test_one_missing_module_of_several_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^this test needs both: "):
        require_extra("this test", "both", "dev", "json", "no_such_module")


@pytest.mark.usefixtures("nothing_installed")
def test_a_server_that_counts_needs_metrics() -> None:
    with pytest.raises(ConfigError, match=r'^--metrics needs prometheus-client: .*pip install .*\[metrics\]"$'):
        check_observers("", metrics=True, otel=False)
