"""Searches for patterns of a user's script in texts of a client, each within a limit of time.

Python's `re` backtracks without an end: `(a+)+$` takes 2ⁿ steps for n letters, in C code that nothing can stop. `regex`
stops at a limit, and has the same syntax but for the few forms that are spelled for it here.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from re import Pattern

import regex

SEARCH_SECONDS = 0.25
"""CPU time for which the texts of one request may be searched for one pattern."""
_REPEATS = frozenset("*+?{")
"""A pattern with none of these takes a bounded number of steps at each place of a text."""
_TOKEN = re.compile(
    r"""\\N\{[^}]*\}|\\.                # an escape
    |\(\?\#[^)]*\)                      # a comment
    |\[\^?\]?(?:\\.|[^\]\\])*\]         # a class
    |\{\d*,?\d*\}                       # a repeat
    |\{                                 # a brace that stands for itself
    """,
    re.DOTALL | re.VERBOSE,
)
_IN_CLASS = re.compile(r"\\.|\[", re.DOTALL)
_COMMENT = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|#[^\n]*", re.DOTALL)


class SearchTooLongError(Exception):
    """A search has reached its limit."""


def has_match(pattern: Pattern[str], texts: Sequence[str], seconds: float = SEARCH_SECONDS) -> bool:
    """Whether a pattern is found in one of the texts; SearchTooLongError when that takes longer than `seconds`."""
    searched = None if _REPEATS.isdisjoint(pattern.pattern) else _compile(pattern.pattern, pattern.flags)
    if searched is None:
        return any(pattern.search(text) for text in texts)
    share = seconds / max(1, len(texts))
    try:
        return any(searched.search(text, timeout=share) for text in texts)
    except TimeoutError:
        raise SearchTooLongError from None


@lru_cache(maxsize=512)
def _compile(pattern: str, flags: int) -> regex.Pattern[str] | None:
    """A pattern of `re` compiled by `regex`; None for one that only `re` takes."""
    shared = flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE)
    ascii_only = regex.ASCII if flags & re.ASCII else 0
    if flags & re.VERBOSE:
        pattern = _COMMENT.sub(lambda found: found[1] or "", pattern)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return regex.compile(_TOKEN.sub(_respell, pattern), int(shared) | ascii_only | regex.VERSION0)
        except regex.error:
            return None


def _respell(token: re.Match[str]) -> str:
    """`[[:alpha:]]` and `a{e}` have a meaning of their own in `regex`."""
    text = token[0]
    if text == "{":
        return r"\{"
    if text[0] == "[":
        return "[" + _IN_CLASS.sub(lambda found: r"\[" if found[0] == "[" else found[0], text[1:])
    return text
