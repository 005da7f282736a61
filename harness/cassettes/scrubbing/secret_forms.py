"""How secrets look in a text: the patterns of keys, assignments, headers, addresses and accounts, and their masks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from harness.cassettes.scrubbing.pseudonyms import pseudonym
from harness.cassettes.scrubbing.secret_names import ends_as_secret, is_assigned_secret
from harness.core.text.token_forms import TOKEN_PATTERN

_VISIBLE_PREFIX = re.compile(
    r"Bearer\s+|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|github_pat_|[A-Za-z]{2,5}[-_]|AKIA|ASIA|AIza|eyJ"
)
"""The prefix of a key that stays, to show its kind."""
_IN_PEM = re.compile(r"(\\+[nrt])|[^\s*]")
"""An escaped line break within a key in PEM, which stays, or a character of it."""
_STARRED_KEY = re.compile(r"(?<![A-Za-z0-9_])(sk-[A-Za-z0-9_\-]*\*[A-Za-z0-9_\-*]*)")
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.%+-]{1,64}@(?:[\w-]{1,63}\.)+[^\W\d_]{2,24}(?![\w-])")
_PUBLIC_EMAIL = re.compile(
    r"^(?:git|noreply|no-reply)@|@(?:[\w-]+\.)*(?:example\.(?:com|org|net)|[\w-]+\.(?:test|invalid|example))$", re.I
)
_ACCOUNT_ID = re.compile(
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:org|user|proj|acct)[-_](?=[A-Za-z]*[0-9]|[A-Za-z]{20})[A-Za-z0-9]{16,}"
)
_AZURE_RESOURCE = re.compile(
    r"(?<![A-Za-z0-9-])([A-Za-z0-9][A-Za-z0-9-]*)"
    r"(?=\.(?:openai\.azure\.(?:com|us)|cognitiveservices\.azure\.(?:com|us)|services\.ai\.azure\.com|azure-api\.net))"
)
_GUID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_PATH_PART = r"[^/?#\s\"'<>\\]+"
_AZURE_PATH = re.compile(
    rf"(\.azure\.com/api/projects/|/api/projects/(?={_PATH_PART}/(?:openai|agents|assistants|threads)\b)"
    rf"|/subscriptions/(?={_GUID}|{_PATH_PART}/resource[gG]roups/)|/resource[gG]roups/"
    rf"|/providers/Microsoft\.[A-Za-z]+/[A-Za-z]+/)({_PATH_PART})"
)
_USERINFO = re.compile(r"(?<=://)(?=[^/@\s\"'<>:]*:|[^/@\s\"'<>]{16})[^/@\s\"'<>{}]+(?=@)")
_SECRET_PARAMETER = re.compile(
    r"(?<=[?&;])((?:api[-_]?key|access_token|refresh_token|client_secret|subscription-key|token|password|secret|sig|signature)=)"
    r"([^&\s\"'<>#\\]+)",
    re.I,
)
_QUOTE = r"(?:\\{0,3}[\"'`])?"
_ASSIGNMENT = re.compile(rf"([A-Za-z_.\-][\w.\-]{{2,200}}+){_QUOTE}[ \t]*(?:=>|:=|[=:]|(?<=[A-Za-z])>)[ \t]*{_QUOTE}")
"""A name and the sign after it, as in environments, headers, code, YAML, XML and connection strings."""
_ASSIGNED_VALUE = re.compile(r"[^\s\"'`<>,;&\\]{4,4096}")
_AUTHORIZATION = re.compile(
    rf"(authorization{_QUOTE}[ \t]*[:=][ \t]*{_QUOTE}(?:basic|bearer|token|key|api-?key|negotiate|ntlm|oauth|ssws|splunk"
    r"|sharedkey|discogs|genie-?key)[ \t]+(?:token=)?)([^\s\"'`<>,;\\]{6,})",
    re.I,
)
_NO_PLAIN_WORD = re.compile(r"[0-9=]|[a-z][A-Z]")
_COOKIES = re.compile(rf"(cookie{_QUOTE}[ \t]*:[ \t]*{_QUOTE})([^\r\n\"'`\\<>]*=[^\r\n\"'`\\<>]*)", re.I)
_COOKIE = re.compile(r"((?:^|[;,])\s*(?!(?:path|domain|expires|max-age|samesite)=)[^=;,\s]+=)([^;,\s]{4,})", re.I)
_USER_OPTION = re.compile(r"(curl\b[^\n]{0,500}?\s(?:-u|--user|--proxy-user)[= ]*[\"']?[^\s:\"']+:)([^\s\"']{3,})")


def mask(text: str, visible: int = 0) -> str:
    """A secret as a row of `x` of its length, except for its first `visible` characters."""
    return text[:visible] + re.sub(r"[^\s*]", "x", text[visible:])


def _mask_token(found: re.Match[str]) -> str:
    start = _VISIBLE_PREFIX.match(found[0])
    visible = start.end() if start else 0
    if "PRIVATE KEY" not in found[0][:visible]:
        return mask(found[0], visible)
    return found[0][:visible] + _IN_PEM.sub(lambda each: each[1] or "x", found[0][visible:])


def _mask_email(found: re.Match[str]) -> str:
    return found[0] if _PUBLIC_EMAIL.search(found[0]) else re.sub(r"[^@.]", "x", found[0])


def _mask_assigned(text: str) -> str:
    """A text without the values that follow the name of a secret."""
    parts, at = list[str](), 0
    for name in _ASSIGNMENT.finditer(text):
        found = _ASSIGNED_VALUE.match(text, name.end()) if ends_as_secret(name[1]) else None
        value = found[0].rstrip(".:!?)]}") if found else ""
        if value and is_assigned_secret(name[1], value):
            parts += [text[at : name.end()], mask(value)]
            at = name.end() + len(value)
    return "".join([*parts, text[at:]])


def _mask_authorization(found: re.Match[str]) -> str:
    return _mask_second(found) if _NO_PLAIN_WORD.search(found[2]) else found[0]


def _mask_cookies(found: re.Match[str]) -> str:
    return found[1] + _COOKIE.sub(_mask_second, found[2])


def _mask_second(found: re.Match[str]) -> str:
    return found[1] + mask(found[2])


_Form = tuple[tuple[str, ...], Callable[[str], str]]
_KEY_FORMS: tuple[_Form, ...] = (
    (("",), partial(TOKEN_PATTERN.sub, _mask_token)),
    (("*",), partial(_STARRED_KEY.sub, lambda found: mask(found[0], 3))),
    (("://",), partial(_USERINFO.sub, lambda found: mask(found[0]))),
    (("=",), partial(_SECRET_PARAMETER.sub, _mask_second)),
    (("authorization",), partial(_AUTHORIZATION.sub, _mask_authorization)),
    (("cookie",), partial(_COOKIES.sub, _mask_cookies)),
    (
        ("key", "token", "secret", "pass", "pwd", "auth", "credential", "cookie", "connection", "dsn", "jwt", "sas"),
        _mask_assigned,
    ),
    (("curl",), partial(_USER_OPTION.sub, _mask_second)),
)
"""The forms of keys: texts in lower case of which each contains one, and the function that masks it."""
_ACCOUNT_FORMS: tuple[_Form, ...] = (
    (("@",), partial(_EMAIL.sub, _mask_email)),
    ((".azure",), partial(_AZURE_RESOURCE.sub, lambda found: mask(found[0]))),
    (("/api/projects/", "/subscriptions/", "/resourcegroups/", "/providers/"), partial(_AZURE_PATH.sub, _mask_second)),
    (("org", "user", "proj", "acct"), partial(_ACCOUNT_ID.sub, lambda found: pseudonym(found[0]))),
)
"""The forms of what names a person or an account."""


def mask_keys(text: str) -> str:
    """A text without what has the form of a key, a token or a password; its length stays."""
    return _replace_forms(text, _KEY_FORMS)


def mask_forms(text: str) -> str:
    """A text without what has the form of a secret, an address or an account; its length stays."""
    return _replace_forms(text, (*_KEY_FORMS, *_ACCOUNT_FORMS))


def _replace_forms(text: str, forms: tuple[_Form, ...]) -> str:
    lowered = text.lower()
    for marks, change in forms:
        if any(mark in lowered for mark in marks):
            text = change(text)
    return text
