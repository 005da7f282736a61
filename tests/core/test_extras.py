"""A package that only an extra brings is asked for when it is used."""

from __future__ import annotations

import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from harness.core.installation import missing_extra, require_extra

from harness.cli.support.observers import check_observers
from harness.core.errors import ConfigError
from harness.core.manual import add_section
from harness.items import message
from harness.server.mock_api import MockApi
from tests.support.command_line import run_cli
from tests.support.in_process import KEY, post, user
from tests.support.recordings import exchange, judged, write_jsonl


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.core.installation.find_spec", lambda _: None)


def test_the_message_says_what_needs_which_package_and_how_to_install_it() -> None:
    told = '--tls needs cryptography: pip install "responses-harness[tls]"'
    assert str(missing_extra("--tls", "cryptography", "tls")) == told


def test_an_installed_package_is_no_error() -> None:
    require_extra("this test", "pytest", "dev")
    require_extra("this test", "the standard library", "dev", "json", "zlib")


def test_one_missing_module_of_several_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^this test needs both: "):
        require_extra("this test", "both", "dev", "json", "no_such_module")


@pytest.mark.usefixtures("nothing_installed")
def test_a_server_that_counts_needs_metrics() -> None:
    with pytest.raises(ConfigError, match=r'^--metrics needs prometheus-client: pip install ".*\[metrics\]"$'):
        check_observers("", metrics=True, otel=False)


@pytest.mark.usefixtures("nothing_installed")
def test_recording_needs_record() -> None:
    result = run_cli("record", "--into", "cassettes", "--", "true")
    assert result.exit_code == 2
    told = 'responses-harness: responses-harness record needs httpx2: pip install "responses-harness[record]"'
    assert result.stderr == add_section(told, "the-installation") + "\n"


NEEDS_IMAGES = 'a request with a picture needs pillow: pip install "responses-harness[images]"'


def asking(picture: bytes) -> dict[str, Any]:
    part = {"type": "input_image", "image_url": f"data:image/png;base64,{b64encode(picture).decode()}"}
    return {"model": "gpt-4.1", "input": [user([part])]}


def test_a_request_with_a_picture_needs_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    api = MockApi(fallback=lambda _: [message("Nice.")])
    answer = post(api, asking(b"a picture of a test"))
    assert (answer.status, answer.body["error"]["message"]) == (418, NEEDS_IMAGES)
    assert [str(problem) for _, problem in api.worlds[KEY].problems] == [NEEDS_IMAGES]


def test_a_recording_with_a_picture_cannot_be_judged_without_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    recording = exchange(1, asking(b"a picture of a recording"), 200, {})
    _, report = judged(tmp_path, write_jsonl(tmp_path, [recording]))
    assert [entry["message"] for entry in report["unreadable"]] == [NEEDS_IMAGES]
