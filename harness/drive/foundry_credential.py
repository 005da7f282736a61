"""A credential for Azure's clients whose token is an API key, and so leads to the World of that key.

One object serves synchronous and asynchronous clients: its results may be awaited, but need not be. It has the
interface of azure-core's credentials, without needing any Azure package.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, NamedTuple, Self

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
