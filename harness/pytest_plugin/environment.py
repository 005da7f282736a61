"""The environment variables that point the clients of the code under test at the mock, and only there.

They are set while a test uses `mock`; with `harness_env = session` they are also set before collection, so that a
client made at import finds the mock. One key then leads to the World of whichever test is running.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import pytest

from harness.core.errors import add_section
from harness.pytest_plugin.late import late_requests

if TYPE_CHECKING:
    from harness.server.mock_api import MockApi
    from harness.server.on_demand import OnDemandServer
    from harness.world.mock import Mock

ENV_INI = "harness_env"
ENV_VALUES = ("test", "session")
SESSION_ENV = f"{ENV_INI} = session"
"""The line of an ini file that points clients made at import at the mock."""
SESSION_KEY = "sk-harness-session"
"""The API key in the environment of a whole run."""

_SERVER_STASH_KEY = pytest.StashKey["OnDemandServer"]()
_NO_WORLD = (
    f"no test uses `mock` now, and the key of `{SESSION_ENV}` selects the World of the running test. Request the fixture "
    "`mock` in the test that sends the request, or send none at import."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the ini option for the environment."""
    parser.addini(
        ENV_INI,
        "when OPENAI_BASE_URL and OPENAI_API_KEY point to the mock: while a test uses it (test), or from before collection "
        "to the end of the run (session), for clients created at import",
        default=ENV_VALUES[0],
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Set the environment before any file of the project is imported."""
    _set_session_environment(early_config)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the environment if a conftest has loaded this plugin, too late for the earlier hook."""
    _set_session_environment(config)


def _set_session_environment(config: pytest.Config) -> None:
    chosen = config.getini(ENV_INI)
    if chosen not in ENV_VALUES:
        told = f"{ENV_INI} = {chosen}: use one of {', '.join(ENV_VALUES)}."
        raise pytest.UsageError(add_section(told, "options-and-files"))
    if chosen != "session" or session_server(config):
        return
    from harness.core.webhooks import DEFAULT_SECRET, SECRET_VARIABLE
    from harness.server.on_demand import OnDemandServer

    server = config.stash[_SERVER_STASH_KEY] = OnDemandServer(partial(_make_session_api, config))
    config.add_cleanup(server.stop)
    monkeypatch = pytest.MonkeyPatch()
    config.add_cleanup(monkeypatch.undo)
    variables = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": SESSION_KEY, SECRET_VARIABLE: DEFAULT_SECRET}
    _set_variables(variables, monkeypatch)


def session_server(config: pytest.Config) -> OnDemandServer | None:
    """Return the server whose address is known before collection.

    None unless the environment is set for the session.
    """
    return config.stash.get(_SERVER_STASH_KEY, None)


def _make_session_api(config: pytest.Config) -> MockApi:
    from harness.server.mock_api import MockApi

    return late_requests(config).watch(MockApi(keys=(), reserved={SESSION_KEY: _NO_WORLD}))


def set_environment(
    mock: Mock, config: pytest.Config, monkeypatch: pytest.MonkeyPatch, trusting: Mapping[str, str]
) -> None:
    """Point OpenAI clients made while the test runs at its World; the variables `trusting` make them trust it.

    With a session environment the session's key is kept: a client made in one test may be used in the next.
    """
    from harness.core.webhooks import DEFAULT_SECRET, SECRET_VARIABLE
    from harness.server.client_environment import client_variables

    key = SESSION_KEY if session_server(config) else mock.api_key
    _set_variables({**client_variables(mock, key), SECRET_VARIABLE: DEFAULT_SECRET, **trusting}, monkeypatch)


def _set_variables(variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.api.http.dialects import PROVIDER_HOSTS
    from harness.server.client_environment import environment_changes

    # Behind a proxy the guard would not see that a request is meant for a provider.
    for variable, value in environment_changes(variables, os.environ, PROVIDER_HOSTS).items():
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value)
