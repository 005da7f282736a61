"""How a text can be wrapped, undone and done again in the same way: JSON's escapes, base64 of either alphabet, in lines."""

from __future__ import annotations

import base64
import binascii
import json
from functools import cache


@cache
def escapes(value: str) -> tuple[str, ...]:
    """A value as it is, and as JSON writes it, in a string and in a string in a string."""
    once = [json.dumps(value, ensure_ascii=narrow)[1:-1] for narrow in (False, True)]
    return tuple(dict.fromkeys([value, *once, *(json.dumps(each)[1:-1] for each in once)]))


def unbased(text: str) -> bytes | None:
    """The bytes of a base64 text of either alphabet, padded or not; None when it is none."""
    try:
        return base64.b64decode(
            text.rstrip("=").translate(_STANDARD) + "=" * (-len(text.rstrip("=")) % 4), validate=True
        )
    except (binascii.Error, ValueError):
        return None


def based(data: bytes, like: str) -> str:
    """Bytes in base64, in the alphabet and with the padding of another text."""
    made = base64.b64encode(data).decode()
    made = made if like.endswith("=") or len(like) % 4 == 0 else made.rstrip("=")
    return made.translate(_URL) if {"-", "_"} & set(like) else made


_STANDARD = str.maketrans("-_", "+/")
_URL = str.maketrans("+/", "-_")


def rewrapped(text: str, like: str) -> str:
    """A text with line breaks where another has them."""
    rest = iter(text)
    kept = "".join(each if each in "\r\n" else next(rest, "") for each in like)
    return kept + "".join(rest)
