"""Texts that a regular expression matches, made up at random."""

import random
import re
import string
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_CLASSES = {
    codes.CATEGORY_WORD: string.ascii_letters + string.digits,
    codes.CATEGORY_DIGIT: string.digits,
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_NOT_SPACE: string.ascii_letters + string.digits,
}


def make_up(pattern: str, seed: int) -> str:
    """Return a text that a pattern matches, with short repetitions; `seed` decides which one."""
    for attempt in range(100):
        chance = random.Random(f"{seed} {attempt}")
        text = _draw(parser.parse(pattern), chance)
        if re.search(pattern, text, re.ASCII):
            return text
    raise AssertionError(f"no text was made up for {pattern}")


def _draw(parsed: Any, chance: random.Random) -> str:
    return "".join(_draw_one(code, argument, chance) for code, argument in parsed)


def _draw_one(code: Any, what: Any, chance: random.Random) -> str:
    if code is codes.LITERAL:
        return chr(what)
    if code is codes.IN:
        return chance.choice("".join(_characters(*bounds) for bounds in what))
    if code is codes.ANY:
        return chance.choice(string.ascii_letters)
    if code is codes.BRANCH:
        return _draw(chance.choice(what[1]), chance)
    if code is codes.SUBPATTERN:
        return _draw(what[-1], chance)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, repeated = what
        count = least if least > 3 else chance.randint(least, min(int(most), least + 2))
        return "".join(_draw(repeated, chance) for _ in range(count))
    return ""  # looks around, and the edges of words


def _characters(code: Any, what: Any) -> str:
    if code is codes.RANGE:
        return "".join(map(chr, range(what[0], what[1] + 1)))
    return _CLASSES[what] if code is codes.CATEGORY else chr(what)
