"""The forms of keys and tokens whose issuers gave them a prefix or a structure of their own.

The prefixes and lengths are those that issuers document and that public secret scanners look for. Some are also in
`cassettes/scrubbing/gitleaks`, with exact lengths: the patterns here are looser, so they also find truncated keys, and
they hide keys in reports, which read no files.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_WORD_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
"""The start of a word; in JSON inside a string, the letter of `\\n` is not part of the word."""
_NO_COMPOUND = r"(?<![A-Za-z0-9]-)"
"""Not the end of a word with hyphens, such as `task-sk-1`."""
_HAS_DIGIT = r"(?=[A-Za-z_\-]*[0-9])"
"""A digit among letters, which ordinary words and tool names rarely have."""
_HAS_DIGIT_OR_CAPITAL = r"(?=[a-z_\-]*[0-9A-Z])"
_W = r"[A-Za-z0-9_\-]"
_S = r"._~+/=\-"

_BEARER = (
    r"Bearer\s+",
    r"(?=[A-Za-z._~+/=\-]*[0-9]|[A-Za-z._~+/=\-]{20,})(?=[A-Za-z0-9._~+/=\-]*[0-9A-Z])[A-Za-z0-9._~+/=\-]{8,}",
)
_PREFIXES: tuple[tuple[str, str], ...] = (
    # models, and tools of agents
    (rf"{_NO_COMPOUND}sk-", rf"(?:{_HAS_DIGIT_OR_CAPITAL}{_W}{{12,}}|[a-z]{{24,}})"),
    (r"sk-(?:proj|svcacct|admin|ant|or)-", rf"{_W}{{12,}}"),
    (rf"{_NO_COMPOUND}(?:rk|pk|sess|ek)-", rf"{_HAS_DIGIT}{_W}{{12,}}"),
    (r"(?:hf_|api_org_|gsk_|xai-|pplx-|csk-|fw_|r8_|tvly-(?:dev-|prod-)?)", rf"{_HAS_DIGIT}[A-Za-z0-9]{{20,}}"),
    (r"sk_", r"[0-9a-f]{48}"),
    (r"fc-", r"[0-9a-f]{32}"),
    (r"lsv2_[a-z]{2}_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    (r"(?:nvapi-|pypi-|pcsk_|ya29\.|hv[bs]\.)", rf"{_HAS_DIGIT}{_W}{{40,}}"),
    # code hosts, registries, builds
    (r"(?:gh[oprsu]_|github_pat_|xox[abeoprs]-|xoxe\.xox[bp]-)", rf"{_W}{{12,}}"),
    (r"gl(?:pat|cbt|dt|rt|ptt|soat|ft|imt|agent|oas|ffct|wt)-", rf"(?:{_HAS_DIGIT}[A-Za-z0-9_\-.]{{20,}}|{_W}{{12,}})"),
    (r"_gitlab_session=", r"[0-9a-f]{32}"),
    (r"GR1348941", rf"{_W}{{20,}}"),
    (r"npm_", rf"{_HAS_DIGIT}[A-Za-z0-9]{{20,}}"),
    (r"rubygems_", r"[0-9a-f]{48}"),
    (r"CLOJARS_", r"[A-Za-z0-9]{60}"),
    (r"(?:dckr_pat_|dckr_oat_|CCIPAT_|CCIPRJ_|bkua_|sgp_|nfp_|sbp_)", rf"{_HAS_DIGIT}{_W}{{20,}}"),
    (r"ATBB", rf"{_HAS_DIGIT}[A-Za-z0-9]{{24,}}"),
    (r"AT(?:ATT|CTT|STT)3", r"[A-Za-z0-9_\-=]{20,}"),
    # workspaces and messages
    (r"lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,}"),
    (r"ntn_", r"[0-9]{5,}[A-Za-z0-9]{20,}"),
    (r"secret_", r"[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    (r"fig[douh]r?_", rf"{_HAS_DIGIT}{_W}{{30,}}"),
    (r"(?:SK|AC)", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    (r"[MNO]", r"[A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,40}(?![A-Za-z0-9_\-])"),  # Discord's bots
    (r"[0-9]{8,10}:", r"[A-Za-z0-9_\-]{35}(?![A-Za-z0-9_\-])"),  # Telegram's bots
    (r"xapp-[0-9]-", r"[A-Za-z0-9\-]{20,}"),
    (r"SG\.", r"[A-Za-z0-9_\-]{22}\.[A-Za-z0-9_\-]{43}"),
    (r"xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    (r"key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    (r"[0-9a-f]{32}-us", r"[0-9]{1,2}(?![0-9A-Za-z])"),
    (r"pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    (r"tfp_", rf"{_HAS_DIGIT}[A-Za-z0-9_\-.=]{{40,}}"),
    (r"CFPAT-", rf"{_W}{{40,}}"),
    (r"PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    # clouds, data, operation
    (r"A[KS]IA", r"[A-Z0-9]{12,}"),
    (r"A(?:BIA|CCA|3T[A-Z0-9])", r"[A-Z2-7]{16}(?![A-Z0-9])"),
    (r"ABSK", r"[A-Za-z0-9+/]{80,}={0,2}"),
    (r"AIza", rf"{_W}{{30,}}"),
    (r"GOCSPX-", rf"{_W}{{20,}}"),
    (r"1//0", rf"{_W}{{40,}}"),
    (r"LTAI", rf"{_HAS_DIGIT}[A-Za-z0-9]{{16,}}"),
    (r"AKID", rf"{_HAS_DIGIT}[A-Za-z0-9]{{32}}"),
    (r"(?:shp(?:at|ca|pa|ss)_|dapi)", r"[0-9a-f]{32}"),
    (r"do[opr]_v1_", r"[0-9a-f]{40,}"),
    (r"(?:pul-|rdme_|shippo_(?:live|test)_|sntryu_|pnu_)", rf"{_HAS_DIGIT}[0-9a-z]{{36,}}"),
    (
        r"(?:sntrys_|glc_|glsa_|pscale_(?:tkn|pw|oauth)_|duffel_(?:live|test)_)",
        rf"{_HAS_DIGIT}[A-Za-z0-9_\-+/=.]{{30,}}",
    ),
    (r"dp\.(?:pt|st|sa|ct|scim|audit)\.", r"[A-Za-z0-9._\-]{32,}"),
    (r"[A-Za-z0-9]{14}\.atlasv1\.", r"[A-Za-z0-9_\-=]{60,}"),
    (r"(?:HRKU-AA|fm[12][ar]?_|fo1_|tskey-[a-z]+-|NR(?:AK|AL|JS)-|FLWSECK)", rf"{_HAS_DIGIT}{_W}{{16,}}"),
    (r"v1\.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    (r"(?:AKCp|cmVmd)", r"[A-Za-z0-9]{59,}"),
    (r"AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    (r"ops_eyJ", r"[A-Za-z0-9+/=]{40,}"),
    (r"A3-", r"[A-Z0-9]{6}-[A-Z0-9]{6,11}(?:-[A-Z0-9]{5}){2,4}"),
    # payment and shops
    (r"(?:whsec_|[sr]k_(?:live|test|prod)_)", rf"{_HAS_DIGIT}[A-Za-z0-9+/]{{20,}}"),
    (r"(?:EZ[AT]K|EAA)", rf"{_HAS_DIGIT}[A-Za-z0-9]{{50,}}"),
    (r"sq0(?:atp|csp|idp)-", rf"{_W}{{22,}}"),
    (r"access_token\$(?:production|sandbox)\$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),
    (r"(?:sb_secret_|vercel_blob_rw_|tgp_v1_|bb_live_)", rf"{_HAS_DIGIT}{_W}{{20,}}"),
    (r"(?:jina_|e2b_|phx_|napi_)", rf"{_HAS_DIGIT}[A-Za-z0-9]{{36,}}"),
    (r"[A-Za-z0-9]{52}JQQJ9[9D]", r"[A-Za-z0-9]{26}(?![A-Za-z0-9])"),  # keys of Azure AI
    # of no issuer
    (r"[xtyz]prv", r"[1-9A-HJ-NP-Za-km-z]{100,}"),  # wallets
    (r"v[1-4]\.local\.", rf"{_W}{{40,}}"),  # PASETO
    (r"eyJ", rf"{_W}{{8,}}\.{_W}{{8,}}(?:\.{_W}*)?"),  # JSON Web Tokens
    _BEARER,
)
"""Patterns for the prefix of a token and for what follows it."""

_PEM_LINE = r"(?:(?:\s|\\+[nr])*(?:(?:Version|Comment|Hash|Charset|Proc-Type|DEK-Info):[^\r\n\\]*|[A-Za-z0-9+/=]{16,}))"
_PEM_LAST_LINE = r"(?:(?:\s|\\+[nr])*(?=[A-Za-z]*[0-9+/=])[A-Za-z0-9+/=]{2,})?"
_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){0,16384}-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    rf"|{_PEM_LINE}*{_PEM_LAST_LINE})"
)
"""A private key in PEM or PGP form, even without its end."""
_AZURE_CLIENT_SECRET = r"(?<![A-Za-z0-9_~.])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.\-]{31,34}"
_WEBHOOK = (
    r"(?<=discord\.com/api/webhooks/)[0-9]{10,}/[A-Za-z0-9_\-]{20,}"
    r"|(?<=discordapp\.com/api/webhooks/)[0-9]{10,}/[A-Za-z0-9_\-]{20,}"
    r"|(?<=hooks\.slack\.com/workflows/)[A-Z0-9]{6,}/[A-Z0-9]{6,}/[0-9]{6,}/[A-Za-z0-9]{16,}"
    r"|(?<=hooks\.slack\.com/triggers/)[A-Z0-9]{6,}/[0-9]{6,}/[A-Za-z0-9]{16,}"
    r"|(?<=hooks\.slack\.com/services/)[A-Z0-9]{6,}/[A-Z0-9]{6,}/[A-Za-z0-9]{16,}"
)
_PREFIXED = f"(?:{'|'.join(prefix + rest for prefix, rest in _PREFIXES)})"
TOKEN_PATTERN = re.compile(rf"{_WORD_START}{_PREFIXED}|{_PRIVATE_KEY}|{_AZURE_CLIENT_SECRET}|{_WEBHOOK}")
"""The forms of keys and tokens of many issuers."""
SHORTEST_TOKEN = 15
"""How many characters these have at least: most texts in JSON are shorter."""
_BEARER_TOKEN, _PREFIXED_TOKEN = re.compile("".join(_BEARER)), re.compile(_PREFIXED)
_WORD_TOKEN = re.compile(f"{_WORD_START}{_PREFIXED}")

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
"""The minimum length of a secret; hiding shorter values would hide ordinary words."""


def secrets_in_headers(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the secret values among headers with lower-case names, with and without their scheme."""
    values = (headers[name].strip() for name in headers if name in SECRET_HEADERS)
    words = (word for value in values for word in (value, value.rpartition(" ")[2]))
    return frozenset(word for word in words if len(word) >= _SHORTEST_SECRET)


def redact(value: Any, secrets: Iterable[str] = ()) -> Any:
    """Hide secrets in a JSON value: each of `secrets` anywhere in a string, and everything that looks like a key."""
    if isinstance(value, str):
        # Longest first: one secret may be part of another.
        for secret in sorted(secrets, key=len, reverse=True) if secrets else ():
            value = value.replace(secret, HIDDEN)
        return TOKEN_PATTERN.sub(HIDDEN, value) if _may_contain_token(value) else value
    if isinstance(value, list | tuple):
        return [redact(element, secrets) for element in value]
    if isinstance(value, Mapping):
        return {redact(name, secrets): redact(member, secrets) for name, member in value.items()}
    return value


def _may_contain_token(text: str) -> bool:
    """Return whether a text has a token or the beginning of one: only long words are searched, as the pattern is slow."""
    if len(text) < SHORTEST_TOKEN:
        return False
    # These may contain white space; all others are one word.
    if "-----BEGIN" in text or ("Bearer" in text and _BEARER_TOKEN.search(text)):
        return True
    return any(map(_is_token, [word for word in text.split() if len(word) >= SHORTEST_TOKEN]))


def _is_token(word: str) -> bool:
    """Return whether a word contains a token; the fewer kinds it can contain, the faster it is searched."""
    if word.isascii() and word.isidentifier():  # no word starts within it
        return _PREFIXED_TOKEN.match(word) is not None
    # Azure's secrets contain a tilde, the addresses of webhooks a slash.
    find = TOKEN_PATTERN.search if "~" in word or "/" in word else _WORD_TOKEN.search
    return find(word) is not None
