"""How secrets look: the names of members that hold one, the patterns of keys, addresses and accounts, and their masks."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.cassettes.scrubbing.pseudonyms import pseudonym
from harness.core.redact import SECRET_PATTERN

CREDENTIAL_MEMBERS = frozenset(
    {
        *("authorization", "proxy_authorization", "api_key", "apikey", "x_api_key", "ocp_apim_subscription_key"),
        *("cookie", "set_cookie", "password", "passwd", "secret", "client_secret", "access_token", "refresh_token"),
        *("id_token", "session_token", "private_key", "secret_access_key", "chatgpt_account_id"),
        *("openai_organization", "openai_project"),
    }
)
"""Members of any object whose values are secrets, in lower case with `_`."""
ACCOUNT_ID_MEMBERS = frozenset(
    {
        *("organization", "organization_id", "org_id", "project_id", "account_id", "tenant_id", "subscription_id"),
        *("user_id", "safety_identifier", "email"),
    }
)
"""Members of the API's own objects that name an account; in output of models and tools they may mean anything."""
_PUBLIC_HEADERS = frozenset({"content-type", "accept", "user-agent", "content-length"})
"""Headers for a remote tool that are no secrets."""

_VISIBLE_PREFIX = re.compile(
    r"Bearer\s+|-----BEGIN [A-Z ]*PRIVATE KEY-----|github_pat_|[A-Za-z]{2,5}[-_]|AKIA|ASIA|AIza|eyJ"
)
"""The prefix of a key that stays, to show its kind."""
_STARRED_KEY = re.compile(r"(?<![A-Za-z0-9_])(sk-[A-Za-z0-9_\-]*\*[A-Za-z0-9_\-*]*)")
_EMAIL = re.compile(r"(?<![\w.+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}(?![A-Za-z0-9-])")
_EXAMPLE_EMAIL = re.compile(r"@(?:[\w-]+\.)*(?:example\.(?:com|org|net)|[\w-]+\.(?:test|invalid|example))$", re.I)
_ACCOUNT_ID = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:org|user|proj|acct)[-_](?=[A-Za-z]*[0-9]|[A-Za-z]{20})[A-Za-z0-9]{8,}"
)
_AZURE_RESOURCE = re.compile(
    r"(?<![A-Za-z0-9-])([A-Za-z0-9][A-Za-z0-9-]*)"
    r"(?=\.(?:openai\.azure\.(?:com|us)|cognitiveservices\.azure\.(?:com|us)|services\.ai\.azure\.com|azure-api\.net))"
)
_ACCOUNT_PATH = re.compile(
    r"(?<=/api/projects/)[^/?#\s\"']+|(?<=/subscriptions/)[^/?#\s\"']+|(?<=/resourceGroups/)[^/?#\s\"']+"
    r"|(?<=/workspaces/)[^/?#\s\"']+"
)
_USERINFO = re.compile(r"(?<=://)[^/@\s\"'<>]+(?=@)")
_SECRET_PARAMETER = re.compile(
    r"(?<=[?&;])((?:api[-_]?key|access_token|refresh_token|client_secret|subscription-key|token|password|secret|sig|signature)=)"
    r"([^&\s\"'<>#\\]+)",
    re.I,
)
_ASSIGNED_SECRET = re.compile(
    r"((?:api|access|account|private|secret|shared)_?(?:access_?)?key|secret|token|password|passwd)(\s*[=:]\s*[\"']?)"
    r"(?=[A-Za-z+/_\-]*[0-9])(?=[0-9+/_\-]*[A-Za-z])([A-Za-z0-9+/_.\-]{16,}={0,2})",
    re.I,
)
"""The name of a secret and its value, as in environments and connection strings."""


def mask(text: str, visible: int = 0) -> str:
    """A secret as a row of `x` of its length, except for its first `visible` characters."""
    return text[:visible] + re.sub(r"[^\s*]", "x", text[visible:])


def _mask_key(found: re.Match[str]) -> str:
    start = _VISIBLE_PREFIX.match(found[0])
    return mask(found[0], start.end() if start else 0)


def _mask_email(found: re.Match[str]) -> str:
    return found[0] if _EXAMPLE_EMAIL.search(found[0]) else re.sub(r"[^@.]", "x", found[0])


SECRET_FORMS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    ("", SECRET_PATTERN, _mask_key),
    ("*", _STARRED_KEY, lambda found: mask(found[0], 3)),
    ("@", _USERINFO, lambda found: mask(found[0])),
    ("=", _SECRET_PARAMETER, lambda found: found[1] + mask(found[2])),
    ("", _ASSIGNED_SECRET, lambda found: found[1] + found[2] + mask(found[3])),
    ("@", _EMAIL, _mask_email),
    (".azure", _AZURE_RESOURCE, lambda found: mask(found[0])),
    ("/", _ACCOUNT_PATH, lambda found: mask(found[0])),
    ("", _ACCOUNT_ID, lambda found: pseudonym(found[0])),
)
"""The forms of secrets: a text that each contains, which is searched for first, the pattern, and its replacement."""


def is_secret_member(name: str, above: str, inner: bool) -> bool:
    """Whether a member is a secret by its own name and that of its object."""
    plain = name.lower().replace("-", "_")
    if plain in CREDENTIAL_MEMBERS or (plain in ACCOUNT_ID_MEMBERS and not inner):
        return True
    return above == "headers" and not inner and name.lower() not in _PUBLIC_HEADERS
