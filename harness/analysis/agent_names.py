"""Finds the name of an agent in its instructions, and masks the words that change between requests."""

from __future__ import annotations

import re
from collections.abc import Iterator

_READ_LIMIT = 2000
"""How many characters of the instructions are searched for a name."""
_MAX_WORDS = 4
"""The maximum number of words in a name; a longer one keeps its last words, which say what the agent is."""

_NAME_PATTERN = re.compile(r"\byour name is\s+(?P<article>)(?P<name>(?:[^\n.,;:!?()]|\.(?=\w))+)", re.I)
_ROLE_PATTERN = re.compile(
    r"\b(?:you(?:['’]re| are| act as| play)|act as|your role is)\s+(?:now\s+|called\s+|named\s+)*"
    r"(?P<article>(?:the|an?|our|my|one of the|one of our)\s+)?(?P<name>(?:[^\n.,;:!?()]|\.(?=\w))+)",
    re.I,
)
_CONDITION_BEFORE = re.compile(
    r"\b(?:if|when|whenever|once|unless|until|while|what|who|where|that|as|since|after|before)\s+$", re.I
)
"""Matches a conjunction before `you are`, which then introduces no name."""
_NOT_A_NAME = re.compile(
    r"(?:\w+(?:ing|ed)|part|able|given|going|not|about|only|here|to|in|on|at|free|also|built|responsible|an?|the)\b",
    re.I,
)
"""Matches what follows `you are` without an article and is not a name: `part of a system`, `allowed to search`."""
_CALLED_PATTERN = re.compile(r"\b(?:named|called)\s+(.+)", re.I)
_AFTER_NAME = re.compile(
    r"\s+(?:who|whose|that|which|and|for|in|on|with|at|from|to|as|by|within|inside|here|responsible|working|"
    r"helping|speciali[sz]\w+|designed|tasked|built|trained|[-–—])(?:\s.*|$)",
    re.I,
)
"""Matches the rest of the sentence after a name."""
_GENERIC_HEADINGS = {
    "system context",
    "system prompt",
    "system",
    "context",
    "instructions",
    "role",
    "task",
    "identity",
    "goal",
}
"""Headings that do not describe the agent."""
_PUNCTUATION = " \t\"'*`_#>“”«»-"

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DATE_TIME_OR_ID = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:\s?[AP]M\b)?"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:,?\s+\d{{4}})?\b"
    rf"|\b{_MONTH}\s+\d{{1,4}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b|\b\d{5,}(?:\.\d+)?\b",
    re.I,
)
"""Dates, times, unix times and generated ids."""
_WEEKDAY = re.compile(r"\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?\s+(?=~)", re.I)


def find_agent_name(instructions: str) -> str:
    """Find the name in instructions: `planner` for `You are the planner.`; empty without one."""
    text = instructions[:_READ_LIMIT]
    return next(filter(None, _find_names(text)), "")


def heading_as_name(instructions: str) -> str:
    """Read the first clause of instructions as a name: `# Triage`, `Write haiku.`; empty if it is too long."""
    clause = re.split(r"[\n.,;:!?]", instructions[:_READ_LIMIT].strip(_PUNCTUATION + "\n"), maxsplit=1)[0].strip(
        _PUNCTUATION
    )
    fits = len(clause) <= 40 and len(clause.split()) <= _MAX_WORDS and clause.casefold() not in _GENERIC_HEADINGS
    return clause if fits else ""


def mask_dates_and_ids(instructions: str) -> str:
    """Mask every date, time and generated id, so that the same instructions compare equal from day to day."""
    return _WEEKDAY.sub("", _DATE_TIME_OR_ID.sub("~", instructions))


def is_nearly_equal(one: str, other: str) -> bool:
    """Return whether two instructions differ in one place only, by at most a tenth of their words."""
    a, b = one.split(), other.split()
    head = _common_prefix_length(a, b)
    tail = _common_prefix_length(a[head:][::-1], b[head:][::-1])
    return head + tail >= 0.9 * max(len(a), len(b))


def _common_prefix_length(one: list[str], other: list[str]) -> int:
    return next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _find_names(text: str) -> Iterator[str]:
    for pattern in (_NAME_PATTERN, _ROLE_PATTERN):
        for match in pattern.finditer(text):
            name = match["name"].strip(_PUNCTUATION)
            if not (
                _CONDITION_BEFORE.search(text[: match.start()]) or (not match["article"] and _NOT_A_NAME.match(name))
            ):
                yield _trim_name(name)


def _trim_name(name: str) -> str:
    if own := _CALLED_PATTERN.search(name):
        name = own[1]
    words = _AFTER_NAME.sub("", name).strip(_PUNCTUATION).split()
    return " ".join(words if len(words) <= _MAX_WORDS else words[-_MAX_WORDS + 1 :])[:40]
