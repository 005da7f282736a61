"""A credential for Azure's clients, whose token is an API key and so leads to the World of that key.

One object serves synchronous and asynchronous clients: what it returns can be awaited, and needs not be. It looks like
azure-core's own, and needs no package of Azure.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, NamedTuple, Self

VALID_SECONDS = 3600


class Token(NamedTuple):
    """A token as azure-core has it, also the result of awaiting it."""

    token: str
    expires_on: int
    token_type: str = "Bearer"
    refresh_on: int | None = None

    def __await__(self) -> Generator[None, None, Token]:
        return self
        yield


class _Done:
    """Nothing, to be awaited or not."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class FoundryCredential:
    """A credential whose token is `key`, whatever scopes it is asked for."""

    def __init__(self, key: str) -> None:
        self._key = key

    def get_token(self, *_: str, **__: Any) -> Token:
        """Return the key as a token that is valid for an hour."""
        return Token(self._key, int(time.time()) + VALID_SECONDS)

    def get_token_info(self, *scopes: str, options: Any = None) -> Token:
        """Return the same, as newer clients ask for it."""
        return self.get_token(*scopes, options=options)

    def close(self) -> _Done:
        """Do nothing: no connection is open."""
        return _Done()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None
