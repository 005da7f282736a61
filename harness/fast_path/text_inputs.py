"""Parses once what stands around the text of an `input`: bodies often differ in that text alone."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from harness.core.exchange import Json

LONGEST = 64 * 1024
"""Bytes of the longest body that is looked at."""
_NAME = b'"input"'


class SplitBody(NamedTuple):
    """A body as what stands before a text, the text as JSON, and what stands after it."""

    before: bytes
    text: bytes
    after: bytes

    @property
    def around(self) -> tuple[bytes, bytes]:
        """What stands around the text: bodies with the same around a text differ in that text alone."""
        return self.before, self.after

    def is_certain_in(self, body: Json) -> bool:
        """Tell whether the text is the `input` of the body that this is, and so of each with the same around a text.

        Without a backslash each quotation mark begins or ends a text, and no inner object has an `"input"`, too.
        """
        around = self.before + self.after
        is_input = around.count(_NAME) == 1 and b"\\" not in around
        return is_input and self.replace_text(body) == body

    def replace_text(self, body: Json) -> Json | None:
        """Copy a body with this text as its `input`; None if the text does not end here, at an escaped quotation mark."""
        try:
            return {**body, "input": orjson.loads(self.text)}
        except orjson.JSONDecodeError:
            return None


def split_at_input(raw: bytes) -> SplitBody | None:
    """Split a body at the first text that follows the name `input`; None without one, and for long bodies."""
    name = raw.find(_NAME)
    if name < 0 or len(raw) > LONGEST:
        return None
    value = name + len(_NAME)
    start = raw.find(b'"', value)
    if start < 0 or raw[value:start].strip() != b":":
        return None
    end = raw.find(b'"', start + 1) + 1
    return SplitBody(raw[:start], raw[start:end], raw[end:]) if end else None
