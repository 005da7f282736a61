"""`python -m tools.gitleaks FILE VERSION DATE`: imports the key patterns that gitleaks publishes.

FILE is `config/gitleaks.toml` of that release, or the gitleaks binary, which embeds it; DATE is the day on which it was
fetched.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.cassettes.scrubbing.gitleaks import RULES_FILE

_LICENCE = "MIT License, Copyright (c) 2019 Zachary Rice; https://github.com/gitleaks/gitleaks/blob/master/LICENSE"
_FIRST_LINE = b"# This file has been auto-generated. Do not edit manually.\n# If you would like to contribute new rules"

LEFT_OUT = {
    "curl-auth-header": "headers are told by their names",
    "curl-auth-user": "`beside_names` has the options of commands",
    "generic-api-key": "`secret_names` has the names",
    "azure-ad-client-secret": "`token_forms` has it",
    "hashicorp-tf-password": "`secret_names` has its name",
    "jwt": "`token_forms` has it",
    "jwt-base64": "base64 is decoded before it is searched",
    "kubernetes-secret-yaml": "the match begins with the name; `beside_names` masks the value alone",
    "nuget-config-password": "`beside_names` has attributes",
    "pkcs12-file": "a path, and no text",
    "private-key": "`token_forms` finds one without its end, too",
    "sidekiq-sensitive-url": "the user of any URL is masked",
    "twilio-api-key": "`token_forms` has it",
    "slack-webhook-url": "`token_forms` leaves the address",
}
"""Rules that are not imported, and why."""
CHANGED = {
    "microsoft-teams-webhook": ("([a-z0-9]{4}-){3}", "(?:[a-z0-9]{4}-){3}"),  # no secret of its own
    "aws-amazon-bedrock-api-key-short-lived": (
        "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t",
        "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[A-Za-z0-9+/=_%-]*",  # what follows is the key
    ),
    "sourcegraph-access-token": ("|[a-fA-F0-9]{40}", ""),  # every commit is of this form
}
"""Changes to a pattern: the old part and the new one."""

_LEAD = r"[\w.-]{0,50}?"
"""Optional text before the name of an issuer, which affects no match's secret, but costs time at every character."""
_END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
"""What gitleaks requires after a secret; here `(`, `,`, `.` and `<` are allowed, too."""
WORD_START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
"""The start of a word; in JSON inside a string, the letter of `\\n` is not part of the word."""
_SIGN = r"""(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)"""
_FLAG = "(?i)"
_PIECES = (
    (_LEAD, ""),
    (_END, r"(?![A-Za-z0-9_\-])"),
    (r"[[:alnum:]]", "[A-Za-z0-9]"),
    (r"\z", r"\Z"),
    (r"(?:[^\w-]|\Z)", r"(?![\w-])"),
    (r"(?:[^a-zA-Z0-9+/]|\Z)", r"(?![a-zA-Z0-9+/])"),
)


def translate(pattern: str) -> str:
    """Translate a pattern from Go's RE2 to Python's `re`, without parts that cost time and affect no secret."""
    for old, new in _PIECES:
        pattern = pattern.replace(old, new)
    if pattern.startswith(r"\b"):
        pattern = WORD_START + pattern[2:]
    elif pattern.startswith(_FLAG + r"\b"):
        pattern = f"{_FLAG}{WORD_START}{pattern[len(_FLAG) + 2 :]}"
    return _close_flags(pattern)


def _close_flags(pattern: str) -> str:
    """Turn each `(?i)` within a pattern into a group `(?i:…)` that extends to the end of the enclosing group."""
    parts, open_groups, at = list[str](), [0], 0
    for token in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?i\)|\(|\)", pattern, re.S):
        parts.append(pattern[at : token.start()])
        at = token.end()
        if token[0] == _FLAG:
            open_groups[-1] += 1
            parts.append("(?i:")
        elif token[0] == ")":
            parts.append(")" * (open_groups.pop() + 1))
        else:
            open_groups += [0] if token[0] == "(" else []
            parts.append(token[0])
    return "".join([*parts, pattern[at:], ")" * open_groups[0]])


def take_over(rules: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Convert the rules of a `gitleaks.toml` to the entries of `rules.json`."""
    entries = []
    for rule in rules:
        if rule["id"] in LEFT_OUT:
            continue
        old, new = CHANGED.get(rule["id"], ("", ""))
        if old not in rule["regex"]:
            raise SystemExit(f"{rule['id']}: `{old}` is not in its pattern any more: {rule['regex']}")
        pattern = translate(rule["regex"].replace(old, new))
        re.compile(pattern, re.ASCII)
        allowed = [regex for allowlist in rule.get("allowlists", []) for regex in allowlist.get("regexes", [])]
        entry = {"id": rule["id"], "pattern": pattern, "keywords": rule["keywords"]}
        entry |= {"beside": True} if _SIGN in rule["regex"] else {}
        entry |= {"group": rule["secretGroup"]} if "secretGroup" in rule else {}
        entry |= {"entropy": rule["entropy"]} if "entropy" in rule else {}
        entry |= {"allowed": list(map(translate, allowed))} if allowed else {}
        entries.append(entry)
    return entries


def read_toml(file: Path) -> Mapping[str, Any]:
    """Read a `gitleaks.toml`, or the one embedded in a gitleaks binary."""
    data = file.read_bytes()
    start = data.find(_FIRST_LINE)
    return tomllib.loads(data[max(start, 0) :].partition(b"\0")[0].decode())


def main(file: str, version: str, date: str) -> None:
    """Write `rules.json`."""
    entries = take_over(read_toml(Path(file))["rules"])
    head = {
        "source": f"gitleaks {version}: config/gitleaks.toml, https://github.com/gitleaks/gitleaks",
        "licence": _LICENCE,
        "fetched": date,
        "renew": "python -m tools.gitleaks FILE VERSION DATE",
        "left_out": LEFT_OUT,
    }
    lines = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
    text = json.dumps(head, indent=2).removesuffix("\n}")
    RULES_FILE.write_text(f'{text},\n  "rules": [\n{lines}\n  ]\n}}\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
