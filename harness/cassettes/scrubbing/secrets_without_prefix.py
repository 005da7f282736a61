"""The forms of secrets in a text, or spread over neighbouring texts: patterns of keys, assignments, headers, accounts."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from harness.cassettes.format.interaction import Interaction
from harness.cassettes.scrubbing.encodings import decode_string, find_strings, is_json
from harness.cassettes.scrubbing.gitleaks import find_keys
from harness.cassettes.scrubbing.masks import mask, mask_key, pseudonym
from harness.cassettes.scrubbing.secret_names import mask_named
from harness.core.secret_prefixes import TOKEN_PATTERN

_STARRED_KEY = re.compile(r"(?<![A-Za-z0-9_])(sk-[A-Za-z0-9_\-]{0,200}\*[A-Za-z0-9_\-*]*)")
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
    r"(?<=[?&;#])((?:api[-_]?key|access_token|refresh_token|id_token|client_secret|subscription-key|token|password|secret|sig"
    r"|(?:x-(?:amz|goog)-)?(?:signature|credential|security-token)|code(?==[A-Za-z0-9._~/\-]{20}))=)"
    r"([^&\s\"'<>#\\]+)",
    re.I,
)
_QUOTE = r"(?:\\{0,3}[\"'`])?"
_AUTHORIZATION = re.compile(
    rf"(authorization{_QUOTE}[ \t]*[:=][ \t]*{_QUOTE}(?:basic|bearer|token|key|api-?key|negotiate|ntlm|oauth|ssws|splunk"
    r"|sharedkey|discogs|genie-?key)[ \t]+(?:token=[\"']?)?)((?!\w+=[\"'\\&])[^\s\"'`<>,;\\]{6,})",
    re.I,
)
_NO_PLAIN_WORD = re.compile(r"[0-9=]|[a-z][A-Z]")
_COOKIES = re.compile(rf"(cookie{_QUOTE}[ \t]*:[ \t]*{_QUOTE})([^\r\n\"'`\\<>]+)", re.I)
_COOKIE = re.compile(r"((?:^|[;,])\s*(?!(?:path|domain|expires|max-age|samesite)=)[^=;,\s]+=)([^;,\s]{4,})", re.I)
_Q = r"(?:\\{0,7}[\"'])"
_SIGNATURE = re.compile(
    rf"((?<![A-Za-z])(?:(?:oauth_|x-amz-|x-goog-)?signature=|mac=(?={_Q})|response=(?={_Q}?[0-9a-f]{{32}})|token=(?={_Q})"
    rf"|(?:v1|sha(?:1|256|512))=(?=[0-9a-f]{{20}})){_Q}?)([A-Za-z0-9+/=_.~%\-]{{16,}})",
    re.I,
)
"""Proofs of who sent a request: signatures of clouds, Digest, Hawk, OAuth 1, webhooks."""
_COMMANDS = re.compile(
    rf"(curl\b[^\n]{{0,500}}?\s(?:-u|--user|--proxy-user)[= ]*{_Q}?[^\s:\"']+:"
    r"|(?:(?<!\w)|(?<=\\[nrt]))(?:(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n]{0,200}?\s-p(?=\S)"
    rf"|docker\s+login\b[^\n]{{0,200}}?\s-p[= ]*{_Q}?|sshpass\s+-p[ ]*{_Q}?|(?:requirepass|masterauth)[ ]+{_Q}?"
    rf"|ConvertTo-SecureString\s+(?:-String\s+)?{_Q}|IDENTIFIED\s+(?:WITH\s+\w+\s+)?BY\s+{_Q}))([^\s\"'\\]{{3,}})",
    re.I,
)
"""Passwords in the arguments of commands, and in files that do not name them."""
_PASSWORD_LINE = re.compile(
    r"((?:^|(?<=[\n>\"'])|(?<=\\n))[\w.*\-]{1,200}:(?:[0-9]{2,5}|\*):[\w.*\-]{1,60}:[\w.*\-]{1,60}:)"
    r"((?=[^\s\\<]*[0-9])(?=[^\s\\<]*[A-Za-z])[^\s\\:<\"']{8,})(?=[\s\\<\"']|$)"
)
"""A line of `.pgpass`: host, port, database, user, password."""
_JWK = re.compile(r"(?<![A-Za-z])kty\\{0,7}[\"']")
_JWK_MEMBER = re.compile(r"((?<![A-Za-z])(?:d|p|q|dp|dq|qi|k)\\{0,7}[\"']\s*:\s*\\{0,7}[\"'])([A-Za-z0-9_\-]{16,})")


def _mask_email(found: re.Match[str]) -> str:
    return found[0] if _PUBLIC_EMAIL.search(found[0]) else re.sub(r"[^@.]", "x", found[0])


def _mask_authorization(found: re.Match[str]) -> str:
    return _mask_second(found) if _NO_PLAIN_WORD.search(found[2]) else found[0]


def _mask_cookies(found: re.Match[str]) -> str:
    return found[1] + _COOKIE.sub(_mask_second, found[2])


def _mask_jwk(text: str) -> str:
    """Mask the private members of JSON Web Keys in a text."""
    return _JWK_MEMBER.sub(_mask_second, text) if _JWK.search(text) else text


def _mask_issued(text: str) -> str:
    """Mask keys whose form is that of a known issuer."""
    parts, at = list[str](), 0
    for start, end in find_keys(text):
        parts += [text[at:start], mask_key(text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def _mask_second(found: re.Match[str]) -> str:
    return found[1] + mask(found[2])


_NAMED = ("key", "token", "secret", "pass", "pwd", "auth", "credential", "cookie", "connection", "dsn", "jwt", "sas")
"""Every name of a secret contains one of these."""
_Form = tuple[tuple[str, ...], Callable[[str], str]]
_KEY_FORMS: tuple[_Form, ...] = (
    (("",), partial(TOKEN_PATTERN.sub, lambda found: mask_key(found[0]))),
    (("*",), partial(_STARRED_KEY.sub, lambda found: mask(found[0], 3))),
    (("://",), partial(_USERINFO.sub, lambda found: mask(found[0]))),
    (("=",), partial(_SECRET_PARAMETER.sub, _mask_second)),
    (("authorization",), partial(_AUTHORIZATION.sub, _mask_authorization)),
    (("cookie",), partial(_COOKIES.sub, _mask_cookies)),
    (("signature=", "mac=", "response=", "token=", "v1=", "sha"), partial(_SIGNATURE.sub, _mask_second)),
    (("kty",), _mask_jwk),
    (_NAMED, mask_named),
    (
        ("curl", "mysql", "mariadb", "docker", "pass", "auth", "securestring", "identified"),
        partial(_COMMANDS.sub, _mask_second),
    ),
    ((":",), partial(_PASSWORD_LINE.sub, _mask_second)),
    (("",), _mask_issued),
)
"""The forms of keys: lower-case marks, one of which every text with such a key contains, and its mask function."""
_ACCOUNT_FORMS: tuple[_Form, ...] = (
    (("@",), partial(_EMAIL.sub, _mask_email)),
    ((".azure",), partial(_AZURE_RESOURCE.sub, lambda found: mask(found[0]))),
    (("/api/projects/", "/subscriptions/", "/resourcegroups/", "/providers/"), partial(_AZURE_PATH.sub, _mask_second)),
    (("org", "user", "proj", "acct"), partial(_ACCOUNT_ID.sub, lambda found: pseudonym(found[0]))),
)
_FORMS = (*_KEY_FORMS, *_ACCOUNT_FORMS)


def mask_keys(text: str) -> str:
    """Mask everything with the form of a key, a token or a password; the text keeps its length."""
    return _replace_forms(text, _KEY_FORMS)


def mask_forms(text: str) -> str:
    """Mask everything with the form of a secret, an address or an account; the text keeps its length."""
    return _replace_forms(text, _FORMS)


def _replace_forms(text: str, forms: tuple[_Form, ...]) -> str:
    lowered = text.lower()
    for marks, change in forms:
        for mark in marks:
            if mark in lowered:
                text = change(text)
                break
    return text


_SHORTEST_PIECE = 6
"""Characters of the shortest piece that is searched for: shorter ones occur in ordinary words."""
_LONGEST_EDGE = 2048
"""Characters at each end of a text that are searched."""
_MASKED = re.compile("x+")
_RANDOM = re.compile(r"[0-9]|[a-z][A-Z]")
_TEXT_MEMBERS = frozenset({"text", "output", "content", "arguments", "input", "delta", "stdout", "result", "value"})


def find_pieces(interaction: Interaction) -> tuple[str, ...]:
    """Find the pieces of keys that are spread over two or more texts of an interaction."""
    events = [text for _, _, text in interaction.frames]
    for data in (interaction.body, interaction.answer):
        text = data.decode("utf-8", "replace")
        lines = text.splitlines()
        streamed = [line[5:].strip() for line in lines if line.startswith("data:")]
        events += streamed or [text]
    return pieces_in(_read_texts(events))


def pieces_in(groups: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Find the pieces of keys that are spread over neighbouring texts of a group."""
    pieces = (piece for texts in groups.values() if len(texts) > 1 for piece in _cross_boundaries(texts))
    return tuple(dict.fromkeys(pieces))


def collect_texts(value: Any, name: str = "", found: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """Collect the texts inside a JSON or YAML value by the name of their member, in order."""
    found = {} if found is None else found
    if isinstance(value, dict):
        for key, member in value.items():
            collect_texts(member, str(key), found)
    elif isinstance(value, list):
        for member in value:
            collect_texts(member, name, found)
    elif isinstance(value, str):
        # A key may be spread over the deltas of a stream, so its events are read one by one.
        lines = [line[5:].strip() for line in value.splitlines() if line.startswith("data:")] or [value]
        nested = _read_texts(line for line in lines if is_json(line))
        for holder, texts in nested.items():
            found.setdefault(holder, []).extend(texts)
        if not nested and name in _TEXT_MEMBERS:
            found.setdefault(name, []).append(value)
    return found


def _read_texts(documents: Iterable[str]) -> dict[str, list[str]]:
    """Collect the strings of JSON documents that hold content, by the name of their member, in order."""
    found: dict[str, list[str]] = {}
    for text in documents:
        if not is_json(text):
            continue
        for start, end, path, named in find_strings(text):
            name = next((step for step in reversed(path) if isinstance(step, str)), "")
            if not named and name in _TEXT_MEMBERS:
                found.setdefault(name, []).append(decode_string(text[start:end]))
    return found


def _cross_boundaries(texts: Sequence[str]) -> Iterator[str]:
    """Yield the secrets in the joined texts that no single text contains."""
    edges = [_keep_edges(text) for text in texts]
    joined = "".join(edges)
    clean = mask_keys(joined)
    if clean == joined:
        return
    starts = [0, *accumulate(map(len, edges))]
    apart = "".join(map(mask_keys, edges))
    for row in _MASKED.finditer(clean):
        if clean[slice(*row.span())] != apart[slice(*row.span())]:
            yield from _cut_row(row.span(), joined, starts)


def _cut_row(row: tuple[int, int], joined: str, starts: Sequence[int]) -> Iterator[str]:
    """Cut a secret at the boundaries of the texts; no pieces if ordinary words follow, which may not be part of it."""
    inner = starts[bisect_right(starts, row[0]) : bisect_left(starts, row[1])]
    pieces = [joined[start:end] for start, end in pairwise([row[0], *inner, row[1]])]
    if not all((bool(_RANDOM.search(piece)) and not piece.isdigit()) for piece in pieces[1:]):
        return
    for piece in pieces:
        if len(piece) >= _SHORTEST_PIECE and set(piece) != {"x"}:
            yield piece


def _keep_edges(text: str) -> str:
    return text if len(text) <= 2 * _LONGEST_EDGE else f"{text[:_LONGEST_EDGE]}\n{text[-_LONGEST_EDGE:]}"
