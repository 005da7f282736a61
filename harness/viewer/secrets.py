"""Hides secrets in what the viewer shows: keys in a journal by value, others by their form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from harness.core.exchange import Exchange
from harness.core.secrets import HIDDEN, SECRET_HEADERS, redact, secrets_in_headers

SHORT_TEXT = 64
SHORT_TEXTS = 4_096
"""How many texts shorter than SHORT_TEXT characters are cached in cleaned form."""


def cleaner_of(exchanges: Iterable[Exchange], more: Iterable[str] = ()) -> Callable[[str], str]:
    """Create the function that hides the secrets in the headers of exchanges, and escapes unpaired surrogates."""
    headers = {id(exchange.request.headers): exchange.request.headers for exchange in exchanges}
    secrets = frozenset(more).union(*map(secrets_in_headers, headers.values()))

    def clean(text: str) -> str:
        shown = text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
        cleaned: str = redact(shown, secrets)
        return cleaned

    clean_again = lru_cache(SHORT_TEXTS)(clean)  # names and types recur in every body
    return lambda text: clean_again(text) if len(text) < SHORT_TEXT else clean(text)


def show_headers(headers: Mapping[str, str], clean: Callable[[str], str]) -> list[tuple[str, str]]:
    """List headers in their order; of a secret one only the scheme is shown."""
    shown = []
    for name, value in headers.items():
        scheme, space, _ = value.strip().partition(" ")
        hidden = f"{scheme} {HIDDEN}" if space and scheme.isalpha() else HIDDEN
        shown.append((clean(name), hidden if name.lower() in SECRET_HEADERS else clean(value)))
    return shown
