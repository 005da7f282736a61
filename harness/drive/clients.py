"""What a test's clients are made with: the `openai` package, a credential for Foundry's clients."""

from __future__ import annotations

import time
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any, NamedTuple, Self

from harness.core.errors import ConfigError, missing_extra

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
