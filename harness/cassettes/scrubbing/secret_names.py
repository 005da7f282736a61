"""Names that reveal a secret, of JSON members, headers, variables and parameters, and checks of their values."""

from __future__ import annotations

import re
from functools import lru_cache

from harness.cassettes.scrubbing.issuers.find_keys import is_key_of

ACCOUNT_ID_MEMBERS = frozenset(
    {
        *("organization", "organization_id", "org_id", "project_id", "account_id", "tenant_id", "subscription_id"),
        *("user_id", "safety_identifier", "email"),
    }
)
"""Members of the API's own objects that identify an account.

In the output of models and tools they may mean anything.
"""
_ACCOUNT_HEADERS = frozenset({"chatgpt_account_id", "openai_organization", "openai_project"})
"""Members of any object that identify an account."""
_PUBLIC_HEADERS = frozenset({"content-type", "accept", "user-agent", "content-length"})
"""Headers for a remote tool that are not secret."""

_KEY_OWNERS = (
    r"api|access|account|admin|app|application|auth|client|consumer|crypto|database|db|deploy|encryption|function|host|hmac"
    r"|integration|jwt|license|master|private|project|publish|root|secret|server|service|session|shared|signature|signing"
    r"|ssh|storage|subscription|webhook|write"
)
CERTAIN_NAME = (
    r"pass(?:word|wd|phrase|code)|pwd|(?:client|app|consumer|shared|signing|webhook|jwt|api|user|secret)[-_]?secret|secret"
    r"|(?:api|secret|private)[-_]?(?:access[-_]?)?key|subscription[-_]?key|account[-_]?key"
    r"|(?:access|refresh|id|session|auth|bearer|api|oauth|user|bot|csrf|xsrf|security|service|deploy|registration|private)"
    r"[-_]?token|authorization|(?:set[-_]?)?cookie"
)
"""The last words of a name whose value is a secret whatever it looks like."""
LIKELY_NAME = (
    rf"(?:{_KEY_OWNERS})[-_]?(?:access[-_]?)?key(?:[-_]?(?:id|base))?|{CERTAIN_NAME}|(?<=[-_])pass|secrets"
    r"|(?<![A-Za-z])(?:auth|jwt|sas|dsn)|credentials?|cookies|connection[-_]?string"
    r"|(?<!page)(?<!page[-_])(?<!continuation)(?<!continuation[-_])(?<!sync)(?<!sync[-_])(?<!cursor)(?<!cursor[-_])token"
)
"""The last words of a name whose value is a secret if it looks like one."""
_TAIL = r"(?:[-_]?(?:value|text|string|str|plain|base64|b64|hex|pem|env|prod|production|dev|test|live|[0-9]{1,2}))?"
_CERTAIN = re.compile(rf"(?:^|_)(?:{CERTAIN_NAME}){_TAIL}$")
_LIKELY = re.compile(rf"(?:^|_)(?:{LIKELY_NAME}){_TAIL}$")
_LIKELY_END = re.compile(rf"(?:{LIKELY_NAME}){_TAIL}$", re.I)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[^a-z0-9]+")
_SPACE = re.compile(r"\s")
_DIGIT = re.compile(r"[0-9]")
_LONGEST_NAME = 200
_LONGEST_TAIL = 40
_SECRET_OBJECTS = frozenset({"cookies", "credentials", "secrets"})
"""Objects whose members are secrets if they look like one."""

_PLACEHOLDER = re.compile(
    r"[$%]?\{.*\}|\$[A-Z_][A-Z0-9_]*|\$\(.*|%[A-Z_]+%|<[^<>]*>|\[[^\]]*\]|[x*.…\s\-_/+=@:%]+|(?:bearer|basic|token)\s+x+"
    r"|(?i:null|none|nil|true|false|undefined|empty|string|str|required|optional|redacted|hidden|example|placeholder"
    r"|change[-_]?me|todo|your[-_ ].*|dummy|secret|password|token|key)",
    re.S,
)
"""A value that stands in for a secret."""
_CODE = re.compile(
    r"[A-Za-z_]+[0-9]?(?:\.[A-Za-z_]+[0-9]?)+|[\w.:!]+[(\[{].*|[a-z]+(?:_[a-z]+)+[0-9]?|[A-Z]+(?:_[A-Z]+)+[0-9]?"
    r"|[a-z]+(?:[A-Z][a-z]+)+[0-9]?|(?:[.~]{0,2}/[a-z0-9._-]+)+/?|[a-z][a-z0-9+.-]*://.*",
    re.S,
)
"""A value that is code or configuration: a name, a dotted path, a call, a file, an address."""


def split_name(name: str) -> str:
    """Split a name in any style into lower-case words joined by `_`: `SecretAccessKey`, `X-Api-Key` and `API_KEY`."""
    return _NO_WORD.sub("_", _HUMP.sub("_", name).lower()).strip("_")


def names_secret(name: str, value: str) -> bool:
    """Return whether the value of a member, header or variable with this name is a secret."""
    words = split_name(name) if len(name) <= _LONGEST_NAME else ""
    if words in _ACCOUNT_HEADERS:
        return True
    if not words or _PLACEHOLDER.fullmatch(value):
        return False
    return bool(_CERTAIN.search(words) or (_LIKELY.search(words) and _looks_random(value, _shortest(words))))


def is_secret_member(name: str, above: str, value: str, inner: bool) -> bool:
    """Return whether a member is a secret by its name, the name of its object, and its value."""
    if names_secret(name, value) or is_key_of(name, value) or (not inner and split_name(name) in ACCOUNT_ID_MEMBERS):
        return True
    if above == "headers" and not inner:
        return name.lower() not in _PUBLIC_HEADERS
    return above.lower() in _SECRET_OBJECTS and _looks_random(value, 8)


def labels_secret(label: str, value: str) -> bool:
    """Return whether a value beside its name is a secret, as in `{"name": "DB_PASSWORD", "value": "…"}`."""
    return names_secret(label, value) and is_assigned_secret(label, value)


def ends_as_secret(name: str) -> bool:
    """Return whether a name in a text, in any style, ends with words that name a secret."""
    return _is_secret_end(name[-_LONGEST_TAIL:])


@lru_cache(4096)
def _is_secret_end(tail: str) -> bool:
    return bool(_LIKELY_END.search(tail))


def is_assigned_secret(name: str, value: str) -> bool:
    """Return whether the value after a revealing name in a text is a secret, and not code, prose or a placeholder."""
    if _PLACEHOLDER.fullmatch(value) or _CODE.fullmatch(value):
        return False
    if "pass" in name.lower() or "pwd" in name.lower():
        return len(value) >= 6 and not value.isalpha()
    return _looks_random(value, _shortest(name.lower()))


def _shortest(name: str) -> int:
    return 12 if name.endswith(("token", "key_id")) else 8


def _looks_random(value: str, shortest: int) -> bool:
    """Return whether a value may be a key or password: one word of letters and digits, or a long one in mixed case."""
    if len(value) < shortest or _SPACE.search(value) or _PLACEHOLDER.fullmatch(value):
        return False
    lower, upper = value.upper() != value, value.lower() != value
    return (bool(_DIGIT.search(value)) and (lower or upper)) or (lower and upper and len(value) >= 20)
