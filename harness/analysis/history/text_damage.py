"""How a text that a client sends back was damaged: doubled, cut off, printed, encoded once too often."""

import html
import json
import re
from collections.abc import Sequence

from harness.analysis.history.text_index import LONGEST_PARSED_TEXT, letters_of, parse_literal

ELLIPSIS = re.compile(r"(…|\.\.\.|\[[^\]]*\]|\([^)]*(?:truncated|omitted)[^)]*\))\s*$", re.I)
"""Matches the end of a text that was shortened on purpose."""
_CITATION_MARKERS = re.compile(
    r"(?:【[^】]{0,300}】|\(?\[[^\]]{0,300}\]\([^)]{0,2000}\)\)?|\[\d+\]|\ue200[^\ue201]{0,300}\ue201|\s)+"
)
"""Matches citations in a text, which a client may remove."""
PRINTED_NOTHING = ("None", "null", "undefined", "[object Object]")
"""What programs print for a value that is not a string."""
PRINTED_OBJECT = re.compile(
    r"\[object (?:Object|Promise|Function|AsyncFunction|Generator|AsyncGenerator)\]"
    r"|<(?:coroutine|generator|async_generator|function|bound method|Future|Task|(?:[\w.]|<locals>)+ object)\b"
    r"(?:[^<>]|<locals>|<lambda>)* at 0x[0-9a-f]+>"
    r"|#<[\w:]+:0x[0-9a-f]+[^<>]*>"
)
"""Matches what programs print for a promise, a coroutine or an object instead of its value."""
_BLANK = re.compile(
    r"[\[(<]\W*(?:system:\s*)?(?:blank|empty|no (?:answer|content|message|output|reply|response|text))\b[^\])>]*[\])>]",
    re.I,
)
"""Matches what a client writes in the place of a text that it takes for empty."""
_MARKUP = re.compile(r"[<>`()\[\]【】{}\ue200]")
"""Matches a character that marks what a client may remove: a tag, a citation, a block of code or data."""
_GAP = re.compile(r"(?<=\w)\s+(?=\w)")
LEAST_MIXED = 20
"""The fewest letters that do not form another text by chance."""
LEAST_CUT = 3
"""The fewest letters missing within a text that count."""
_LITERAL_STARTS = ("[", "{", "b")
_FOREIGN_LETTER = re.compile("[^\0-\x7f\ufffd]")
_MARKS = "?\ufffd"
_MISREAD_AS = ("latin-1", "cp1252")
"""The encodings that a text in UTF-8 is most often taken for."""
CUT_OFF = "cut off"
LEAST_STUTTER = 3
"""The fewest surplus letters, in repeated parts, that count; fewer are a typo, and so is one letter repeated."""
_PRINTED_PARTS = re.compile(r"""\[?\{\s*['"]""")
_PRINTED_PICTURE = re.compile(r"""\{\s*['"]type['"]\s*:\s*['"]input_(?:image|file|audio)['"]""")


def describe_damage(was: str, now: str) -> str:
    """Describe how a text was damaged, as by being doubled or cut off; empty if it was edited or shortened on purpose."""
    was, now = was.strip(), now.strip()
    if is_doubled(was, now):
        return "doubled"
    if now != was and _BLANK.fullmatch(now):
        return "as a placeholder for an empty text"
    if now != was and (now in PRINTED_NOTHING or PRINTED_OBJECT.fullmatch(now) or is_printed_in(was, now)):
        return "as a printed value"
    if how := describe_encoding(was, now):
        return how
    # A text that was shortened on purpose has a mark in that place.
    if was == now or not was or (now and ELLIPSIS.search(now)):
        return ""
    if was.startswith(now) and not _CITATION_MARKERS.fullmatch(was[len(now) :]):
        return CUT_OFF
    cut = was.removesuffix(now)
    # Text after a closing tag such as `</think>` is left when a client removes the content of the tag.
    if cut != was and not cut.rstrip().endswith(">"):
        return "without its beginning"
    if _is_cut_within(was, now):
        return "without a part"
    if how := _describe_mixed_words(was, now):
        return how
    return "with parts doubled" if _is_stuttered(letters_of(was), letters_of(now)) else ""


def describe_encoding(was: str, now: str) -> str:
    """Describe how a text was encoded once too often, or decoded as what it is not; empty if it was neither."""
    if now == was:
        return ""
    as_json = [json.dumps(was), json.dumps(was, ensure_ascii=False)]
    if now in as_json or now in [text[1:-1] for text in as_json]:
        return "as JSON"
    if html.unescape(now) == was:
        return "with HTML escapes"
    # A program without a character writes marks in its place, one for each of its units, or leaves out even letters.
    has_marks = sum(map(now.count, _MARKS)) > sum(map(was.count, _MARKS)) and {*now} <= {*was, *_MARKS}
    is_replaced = has_marks and _unreadable(now) == _unreadable(was) and _FOREIGN_LETTER.search(was)
    is_left_out = now and now == _FOREIGN_LETTER.sub("", was) and any(map(str.isalpha, _FOREIGN_LETTER.findall(was)))
    is_misread = any(_misread(was, code) == now for code in _MISREAD_AS)
    return "in another encoding" if is_replaced or is_left_out or is_misread else ""


def _unreadable(text: str) -> str:
    return re.sub("(?:[^\0-\x7f]|\\?)+", "?", text)


def _describe_mixed_words(was: str, now: str) -> str:
    """Describe how a text has the same letters, but joined words or another order; empty without either."""
    old, new = letters_of(was), letters_of(now)
    if old == new:
        return "with its words joined" if len(_GAP.findall(was)) > len(_GAP.findall(now)) else ""
    return "in another order" if len(old) >= LEAST_MIXED and sorted(old) == sorted(new) else ""


def is_printed_in(was: str, now: str) -> bool:
    """Return whether a text is the JSON or the `repr` of an object, a list or bytes with the original in it."""
    return now[:1] in _LITERAL_STARTS and was in _strings_in(parse_literal(now[:LONGEST_PARSED_TEXT]))


def _strings_in(value: object) -> Sequence[str]:
    """List the texts in a value: in bytes, or in the members of an object or a list, but not in parts with a type."""
    if isinstance(value, bytes):
        return [value.decode("utf-8", "replace")]
    members: Sequence[object] = ()
    if isinstance(value, dict) and "type" not in value:
        members = list(value.values())
    elif isinstance(value, list):
        members = value
    return [text for member in members for text in ([member] if isinstance(member, str) else _strings_in(member))]


def _misread(text: str, encoding: str) -> str:
    """Return a text in UTF-8 as a program reads it that assumes another encoding."""
    return text.encode("utf-8", "surrogatepass").decode(encoding, "ignore").strip()


def _is_cut_within(was: str, now: str) -> bool:
    """Return whether a text lacks a part of a line; what is marked up may be left out on purpose."""
    missing = len(was) - len(now)
    if missing < LEAST_CUT:
        return False
    start = next(place for place, letter in enumerate(was) if now[place : place + 1] != letter)
    cut = was[start : start + missing]
    is_rest = was[:start] + was[start + missing :] == now
    return is_rest and len(letters_of(cut)) >= LEAST_CUT and "\n" not in cut and not _MARKUP.search(cut)


def without_citations(text: str) -> str:
    """Remove citation marks and white space from a text."""
    return _CITATION_MARKERS.sub("", text)


def _is_stuttered(was: str, now: str) -> bool:
    """Return whether a text is the original with parts, such as the deltas of its stream, repeated in place."""
    added = longest = place = 0
    for letter in (*was, ""):
        while now[place : place + 1] != letter:
            length = _repeated_length(now, place)
            if not length:
                return False
            added, longest, place = added + length, max(longest, length), place + length
        place += 1
    return added >= LEAST_STUTTER and (longest > 1 or 2 * added >= len(was))


def _repeated_length(text: str, place: int) -> int:
    """Return the length of the shortest string before a position that repeats after it; 0 if nothing repeats."""
    lengths = range(1, min(place, len(text) - place) + 1)
    return next((length for length in lengths if text.startswith(text[place - length : place], place)), 0)


def is_doubled(was: str, now: str) -> bool:
    """Return whether a text consists of several copies of another, separated by white space at most."""
    return bool(was) and now.count(was) > 1 and not now.replace(was, "").strip()


def is_printed(was: str, now: str) -> bool:
    """Return whether a text is what a program prints for a missing value, or for the parts of a message."""
    if was in PRINTED_NOTHING or _PRINTED_PARTS.match(was):
        return False
    is_list = is_printed_in(was, now) or (bool(_PRINTED_PARTS.match(now)) and was in now and now[-1] in "}]")
    return now in PRINTED_NOTHING or is_list or bool(_PRINTED_PICTURE.search(now) and not _PRINTED_PICTURE.search(was))
