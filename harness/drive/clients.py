"""What a test's clients are made with: the `openai` package, a credential for Foundry's clients."""

from __future__ import annotations

import time
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, NamedTuple, Self

from harness.core.errors import ConfigError, missing_extra
from harness.server.deadline import run_within

_FIRST = "1.66"
"""The first release with the Responses API."""


def import_openai(who: str) -> Any:
    """Import the package; ConfigError, naming `who` needs it, if it is missing or has no Responses API."""
    try:
        import openai
    except ImportError as problem:
        raise missing_extra(who, "openai", "openai") from problem
    try:
        found = find_spec("openai.resources.responses")
    except ImportError:
        found = None
    if found is None:
        installed = getattr(openai, "__version__", "?")
        raise ConfigError(
            f"{who} needs openai {_FIRST} or newer: openai {installed}, which is installed, has no Responses API. "
            f'pip install "openai>={_FIRST}"; if another package keeps it back, `pip check` names it.'
        )
    return openai


VALID_SECONDS = 3600


class Token(NamedTuple):
    """A token in azure-core's form, which returns itself when awaited."""

    token: str
    expires_on: int
    token_type: str = "Bearer"
    refresh_on: int | None = None

    def __await__(self) -> Generator[None, None, Token]:
        return self
        yield


class _Done:
    """None for synchronous callers, and awaitable for asynchronous ones."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class FoundryCredential:
    """A credential whose token is always `key`, whatever scopes are requested."""

    def __init__(self, key: str) -> None:
        self._key = key

    def get_token(self, *_: str, **__: Any) -> Token:
        """Return the key as a token that is valid for an hour."""
        return Token(self._key, int(time.time()) + VALID_SECONDS)

    def get_token_info(self, *scopes: str, options: Any = None) -> Token:
        """Return the same token, through the method that newer clients call."""
        return self.get_token(*scopes, options=options)

    def close(self) -> _Done:
        """Do nothing, as there is no connection to close."""
        return _Done()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


try:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import HttpWaitStrategy
except ImportError as problem:
    raise missing_extra("MockContainer", str(problem.name), "testcontainers") from problem

PORT = 8080
START_SECONDS = 150.0
"""Seconds from the start of a container to its first healthy answer; testcontainers itself says why after 120."""
SCRIPTS = "/home/harness/scripts"
"""The directory of scripts inside the container."""


class MockContainer(DockerContainer):
    """A container with the mock, from the image built from this project's `Dockerfile`.

    `with MockContainer("responses-harness").with_script("weather.yaml") as container:` waits until the mock is healthy;
    `container.base_url` is then its address. Additional `arguments` are those of `responses-harness serve`. Control
    requests are sent to `url`, with `control_token` in the header `x-harness-token`.
    """

    def __init__(self, image: str = "responses-harness", *arguments: str, port: int = PORT) -> None:
        super().__init__(image)
        self.port, self.control_token = port, token_urlsafe(16)
        self._arguments = ["serve", "--host", "0.0.0.0", "--port", str(port), *arguments]
        self.with_exposed_ports(port)
        self.with_env("HARNESS_CONTROL_TOKEN", self.control_token)
        self.with_command(self._arguments)
        self.waiting_for(HttpWaitStrategy(port, "/_harness/health").with_poll_interval(0.1))

    def with_script(self, file: str | Path) -> Self:
        """Have the mock play a script file of this machine: `.yaml` or `.py`."""
        found = Path(file).resolve(strict=True)
        self._arguments += ["--script", f"{SCRIPTS}/{found.name}"]
        return self.with_volume_mapping(found, f"{SCRIPTS}/{found.name}")

    def start(self) -> Self:
        """Start the container and wait until the mock is healthy; TimeoutError if that takes too long."""
        return run_within(START_SECONDS, super().start, self.stop)

    @property
    def url(self) -> str:
        """The server's URL as seen from this machine."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(self.port)}"

    @property
    def base_url(self) -> str:
        """The root of the API, for a client's base URL."""
        return f"{self.url}/v1"
