"""Removes secrets from output: known ones by their value, others by their form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

SECRET_HEADERS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "api-key",
        "x-api-key",
        "ocp-apim-subscription-key",
        "cookie",
        "set-cookie",
    }
)
"""Headers whose values are secrets, in lower case."""
HIDDEN = "[hidden]"

_SHORTEST_SECRET = 8
"""Shorter values occur by chance: hiding them would hide ordinary words."""
_WORD_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
"""The start of a word; in JSON inside a string, the letter of `\\n` is not part of the word."""
_HAS_DIGIT = r"(?=[A-Za-z_\-]*[0-9])"
"""A digit among letters: ordinary words and names of tools rarely have one."""
SECRET_PATTERN = re.compile(
    rf"{_WORD_START}(?:sk-|(?:rk|pk|sess|ek)-{_HAS_DIGIT})[A-Za-z0-9_\-]{{12,}}"  # OpenAI's keys
    rf"|{_WORD_START}Bearer\s+[A-Za-z0-9._~+/=\-]{{8,}}"
    rf"|{_WORD_START}eyJ[A-Za-z0-9_\-]{{8,}}\.[A-Za-z0-9_\-]{{8,}}(?:\.[A-Za-z0-9_\-]*)?"  # JSON Web Tokens
    rf"|{_WORD_START}(?:gh[oprsu]_|github_pat_|xox[abeprs]-|glpat-)[A-Za-z0-9_\-]{{12,}}"
    rf"|{_WORD_START}(?:A[KS]IA[A-Z0-9]{{12,}}|AIza[A-Za-z0-9_\-]{{30,}})"
    # keys of providers of models and tools, and of other services that agents use
    rf"|{_WORD_START}(?:hf_|gsk_|xai-|pplx-|csk-|fw_|r8_|npm_|whsec_|[sr]k_(?:live|test)_|dop_v1_|tvly-(?:dev-|prod-)?)"
    rf"{_HAS_DIGIT}[A-Za-z0-9]{{20,}}"
    rf"|{_WORD_START}(?:shp(?:at|ca|pa|ss)_|dapi)[0-9a-f]{{32}}"
    rf"|{_WORD_START}(?:nvapi-|pypi-|pcsk_|ya29\.|hvs\.){_HAS_DIGIT}[A-Za-z0-9_\-]{{40,}}"
    rf"|{_WORD_START}lsv2_[a-z]{{2}}_[0-9a-f]{{32}}_[0-9a-f]{{10}}"
    rf"|{_WORD_START}xapp-[0-9]-[A-Za-z0-9\-]{{20,}}"
    rf"|{_WORD_START}SG\.[A-Za-z0-9_\-]{{22}}\.[A-Za-z0-9_\-]{{43}}"
    rf"|{_WORD_START}[0-9]{{8,10}}:[A-Za-z0-9_\-]{{35}}(?![A-Za-z0-9_\-])"  # Telegram's bots
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"
)
"""The forms of keys and tokens of many issuers."""


def secrets_in_headers(headers: Mapping[str, str]) -> frozenset[str]:
    """The secret values among headers with lower-case names, without their scheme."""
    values = (headers[name].strip() for name in headers if name in SECRET_HEADERS)
    words = (word for value in values for word in (value, value.rpartition(" ")[2]))
    return frozenset(word for word in words if len(word) >= _SHORTEST_SECRET)


def redact(value: Any, secrets: Iterable[str] = ()) -> Any:
    """A JSON value without secrets: each of `secrets` anywhere in a string, and everything in the form of a key."""
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            value = value.replace(secret, HIDDEN)
        return SECRET_PATTERN.sub(HIDDEN, value)
    if isinstance(value, list | tuple):
        return [redact(one, secrets) for one in value]
    if isinstance(value, Mapping):
        return {redact(name, secrets): redact(one, secrets) for name, one in value.items()}
    return value
