"""Names that reveal a secret, of members, headers, variables and parameters; values beside them in a text are masked."""

import re
from functools import lru_cache

from harness.cassettes.scrubbing.gitleaks import is_key_of
from harness.cassettes.scrubbing.masks import mask

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


_WORD_START = r"(?:(?<![\w.\-])|(?<=\\[nrt]))"
_S = r"(?:[ \t\r\n]|\\{1,4}[nrt])"
"""White space, including an escaped line break."""
_Q = r"(?:\\{0,7}[\"'`])"
_NAME = r"[A-Za-z_.\-][\w.\-]{2,200}+"
_WHOLE_NAME = r"(?<![\w.\-])[\w.\-]{3,}+"
"""A name whose start is not marked; matched once per word, however long the word is."""
_VALUE = r"[^\s\"'`<>,;&\\]{4,4096}"
_OPENED = {")": "(", "]": "[", "}": "{"}

_TYPE = (
    r"(?:[?!]?[ \t]*:[ \t]*(?:&[ \t]*)?(?:'[a-z]+[ \t]+)?[A-Za-z_][\w.]*(?:[<\[][^\n=;]{0,40}[>\]])?[?*&]*"  # apiKey: string
    r"(?:[ \t]*\|[ \t]*[\w.]+){0,3}|\{[ \t]*get;[^{}\n]{0,30}\})[ \t]*:?="
)
"""The type of a variable, and the sign after it."""
_TYPE_AFTER_SPACE = r"(?<=\w)[ \t]++(?:As[ \t]+)?[*\[\]]{0,3}[A-Za-z][\w.]{1,40}[ \t]*:?="  # apiKey string
_SIGN = (
    rf"{_Q}?[ \t]*+(?:\[\])?[\])]{{0,2}}[ \t]*+"  # possessive: a row of spaces could otherwise be divided in many ways
    rf"(?:{_TYPE}|=>|:=|<-|(?:\?\?|\|\|)=|[?+!]?={{1,3}}|::?=?|(?<=[A-Za-z])>|\|(?!\|)"
    rf"|(?:\|\||\?\?|or)(?=[ \t]*{_Q})|[({{](?={_Q}))"
)
_BEFORE_VALUE = (
    r"(?:(?:!!\w+|&\w+)[ \t]+|[|>][+\-]?[ \t]*(?:\r?\n|\\{1,4}n)[ \t]+|<!\[CDATA\[|\[\[|(?:@|[bru]|rb|br)(?=\\{0,7}[\"'])"
    r"|[A-Za-z_][\w.:]{0,60}\((?=\\{0,7}[\"'`])|(?:Bearer|Basic|Token|ApiKey)[ \t]+)"
)
"""What may come between the sign and the value or its quote: a tag, a block, a call, a scheme."""
_ASSIGNMENT = re.compile(
    rf"({_WHOLE_NAME})(?:{_SIGN}|{_TYPE_AFTER_SPACE})[ \t]*{_BEFORE_VALUE}?{_Q}?(?:(?<=[\"'`])(?:Bearer|Basic|Token) )?"
)
"""A name and the sign after it, as in environments, headers, code, YAML, XML, tables and connection strings."""
_ASSIGNED_VALUE = re.compile(_VALUE)
_READER = re.compile(r"(?:^|[._])(?:get|find|fetch|lookup|read|load|parse|decode|verify|validate|delete|has)", re.I)
"""A function that takes the name of a secret, not the secret itself."""


def mask_named(text: str) -> str:
    """Mask the values beside the name of a secret in a text."""
    return _mask_secret_objects(_mask_pairs(_mask_assigned(text)))


def _mask_assigned(text: str) -> str:
    """Mask the values that follow the name of a secret and a sign."""
    parts, at, start = list[str](), 0, 0
    while name := _ASSIGNMENT.search(text, start):
        start = name.end(1)  # the sign may belong to the next name, as in `String API_KEY = "…"`
        if ends_as_secret(name[1]) and (value := _find_assigned(text, name)):
            parts += [text[at : name.end()], mask(value)]
            at = start = name.end() + len(value)
    return "".join([*parts, text[at:]])


def _find_assigned(text: str, name: re.Match[str]) -> str:
    """Return the secret after a name and a sign, or an empty string."""
    found = _ASSIGNED_VALUE.match(text, name.end())
    value = _without_end(found[0]) if found else ""
    takes_name = "(" in name[0] and _READER.search(name[1])
    return value if value and not takes_name and is_assigned_secret(name[1], value) else ""


def _without_end(value: str) -> str:
    """Cut punctuation of a sentence, and brackets that were not opened, from the end of a value."""
    while value and (value[-1] in ".:!?" or value.count(_OPENED.get(value[-1], "")) < value.count(value[-1])):
        value = value[:-1]
    return value


_SCHEME = r"(?:(?:Bearer|Basic|Token) )?"
_COMMAND = (
    r"(?:ENV|ARG|setx|set[ \t]+-\w+|setenv|SetEnv|#define|(?:config|configure|secret)[ \t]+set|(?:fastcgi|uwsgi)_param"
    r"|proxy_set_header|add_header|git[ \t]+config(?:[ \t]+--\w+)*)"
)
_LABEL = rf"{_WORD_START}(?:name|key|id|variable|header|field|setting){_Q}?[ \t]*[:=][ \t]*{_Q}?"
_PAIRS: tuple[tuple[tuple[str, ...], str], ...] = (
    # a call or a tuple with both, or the value quoted after the name
    (
        (",",),
        rf"(?:[(,]{_S}*{_Q}|\{{{_S}*)(?P<name>{_NAME}){_Q}?{_S}*,{_S}*(?:\w{{1,20}}={_S}*)?{_Q}{_SCHEME}(?P<value>{_VALUE}){_Q}",
    ),
    ((' "', " '", " `", " \\", "\t"), rf"(?P<name>{_WHOLE_NAME})[ \t]+(?:is[ \t]+)?{_Q}(?P<value>{_VALUE}){_Q}"),
    # commands, and files of configuration
    (
        ("env", "arg ", "set", "#define", "param", "header", "git"),
        rf"{_WORD_START}{_COMMAND}[ \t]+{_Q}?(?P<name>[^\s\"'`=]{{0,100}}?{_NAME}){_Q}?"
        rf"[ \t]+(?:--(?:body|value)[ \t=]+)?{_Q}?(?P<value>{_VALUE})",
    ),
    (("-",), rf"{_WORD_START}--?(?P<name>{_NAME})[ \t]+{_Q}?(?P<value>(?!-){_VALUE})"),
    (("login",), rf"{_WORD_START}login[ \t]+\S{{1,100}}{_S}+(?P<name>password)[ \t]+(?P<value>{_VALUE})"),
    # the name and the value each with a label
    (
        ("value", "default", "content"),
        rf"{_LABEL}(?P<name>{_NAME}){_Q}?"
        rf"[^{{}}<>]{{1,120}}?(?<!\w)(?:value|default|content){_Q}?[ \t]*[:=][ \t]*{_Q}?(?P<value>{_VALUE})",
    ),
    (
        ("value",),
        rf"{_WORD_START}value{_Q}?[ \t]*[:=][ \t]*{_Q}(?P<value>{_VALUE}){_Q}"
        rf"[^{{}}<>]{{1,120}}?(?<!\w)(?:name|key){_Q}?[ \t]*[:=][ \t]*{_Q}?(?P<name>{_NAME})",
    ),
    ((">",), rf"{_WORD_START}(?:name|key|id)={_Q}(?P<name>{_NAME}){_Q}[^<>]{{0,120}}>{_S}*(?P<value>{_VALUE})"),
    (("</",), rf"<(?:key|name)>(?P<name>{_NAME})</(?:key|name)>{_S}*<(?:string|value)>(?P<value>{_VALUE})"),
    (
        ("variable",),
        rf"{_WORD_START}variable[ \t]+{_Q}(?P<name>{_NAME}){_Q}{_S}*\{{"
        rf"[^{{}}]{{0,300}}?(?<!\w)default[ \t]*=[ \t]*{_Q}(?P<value>{_VALUE})",
    ),
    ((",",), r"(?:^|(?<=\n)|(?<=\\n))(?P<name>[A-Za-z]\w{2,60}),(?P<value>[^\s\"'`<>,;&\\]{12,200})(?=\r?\n|\\|,|$)"),
)
_NAMED_PAIRS = tuple((marks, re.compile(pattern, re.I)) for marks, pattern in _PAIRS)
"""Marks, one of which is in every such text in lower case, and how a name and its value stand beside each other."""


def _mask_pairs(text: str) -> str:
    """Mask values that are separated from the name of a secret by something other than a sign."""
    lowered = text.lower()
    for marks, pattern in _NAMED_PAIRS:
        if any(mark in lowered for mark in marks):
            text = _mask_values(pattern, text)
    return text


def _mask_values(pattern: re.Pattern[str], text: str) -> str:
    parts, at, start = list[str](), 0, 0
    while found := pattern.search(text, start):
        value = _without_end(found["value"])
        if ends_as_secret(found["name"]) and is_assigned_secret(found["name"], value):
            start = found.start("value") + len(value)
            parts += [text[at : found.start("value")], mask(value)]
            at = start
        else:  # the text after the first of the two may be another pair
            start = min(found.end("name"), found.end("value"))
    return "".join([*parts, text[at:]])


_SECRET_OBJECT = re.compile(rf"{_WORD_START}kind:[ \t]*[\"']?Secret\b", re.I)
_DATA = re.compile(r"(?:^|(?<=\n)|(?<=\\n))(?:data|stringData):[ \t]*((?:(?:\r?\n|\\{1,4}n)[ \t]+[\w.\-]+:[^\n\\]*)+)")
_DATUM = re.compile(rf"([ \t]+[\w.\-]+:[ \t]*[\"']?)({_VALUE})")


def _mask_secret_objects(text: str) -> str:
    if not _SECRET_OBJECT.search(text):
        return text
    return _DATA.sub(lambda found: _DATUM.sub(lambda datum: datum[1] + mask(datum[2]), found[0]), text)
