"""Secrets kept out of what is printed or written: known ones by their value, others by their form."""

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
"""A shorter value may stand anywhere by chance; hiding it would hide ordinary words."""
_WORD_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
"""A word's beginning; where JSON stands in a text, the letter of `\\n` is no part of the word."""
_HAS_DIGIT = r"(?=[A-Za-z_\-]*[0-9])"
"""Among letters, as no word of a sentence and no name of a tool has it."""
SECRET_PATTERN = re.compile(
    rf"{_WORD_START}(?:sk-|(?:rk|pk|sess|ek)-{_HAS_DIGIT})[A-Za-z0-9_\-]{{12,}}"  # OpenAI's keys
    rf"|{_WORD_START}Bearer\s+[A-Za-z0-9._~+/=\-]{{8,}}"
    rf"|{_WORD_START}eyJ[A-Za-z0-9_\-]{{8,}}\.[A-Za-z0-9_\-]{{8,}}(?:\.[A-Za-z0-9_\-]*)?"  # JSON Web Tokens
    rf"|{_WORD_START}(?:gh[oprsu]_|github_pat_|xox[abeprs]-|glpat-)[A-Za-z0-9_\-]{{12,}}"
    rf"|{_WORD_START}(?:A[KS]IA[A-Z0-9]{{12,}}|AIza[A-Za-z0-9_\-]{{30,}})"
    # of providers of models and tools, and of others that agents are given keys to
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
"""What has the form of a key or a token, whoever gave it."""


def secrets_in_headers(headers: Mapping[str, str]) -> frozenset[str]:
    """The secret values among headers with lower-case names, without their scheme."""
    values = (headers[name].strip() for name in headers if name in SECRET_HEADERS)
    words = (word for value in values for word in (value, value.rpartition(" ")[2]))
    return frozenset(word for word in words if len(word) >= _SHORTEST_SECRET)


def redact(value: Any, secrets: Iterable[str] = ()) -> Any:
    """A JSON value without secrets: `secrets` wherever they stand in a text, and whatever has the form of a key."""
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            value = value.replace(secret, HIDDEN)
        return SECRET_PATTERN.sub(HIDDEN, value)
    if isinstance(value, list | tuple):
        return [redact(one, secrets) for one in value]
    if isinstance(value, Mapping):
        return {redact(name, secrets): redact(one, secrets) for name, one in value.items()}
    return value
