"""A package that only an extra brings is asked for when it is used."""

from __future__ import annotations

import pytest

from harness.cli.support.observers import check_observers
from harness.core.errors import ConfigError
from harness.core.extras import missing_extra, require_extra
from harness.core.manual import add_section
from tests.support.command_line import run_cli


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.core.extras.find_spec", lambda _: None)


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
    told = 'harness: harness record needs httpx2: pip install "responses-harness[record]"'
    assert result.stderr == add_section(told, "the-installation") + "\n"
