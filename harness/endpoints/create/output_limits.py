"""What of a turn fits into `max_output_tokens`: what no model could have said to the end is cut.

Only where it is certain: an estimate of tokens cuts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from harness.api.tokens import count_words
from harness.core.exchange import Json
from harness.ending import Ending, incomplete

_WORD = re.compile(r"\S+")


def limit_output(output: list[Json], ending: Ending, limit: int) -> tuple[list[Json], Ending]:
    """Output of no more words than the request allows tokens, and how it ends then.

    No token holds two words, so a text of more words than `limit` is one that no model could have finished. Only texts
    of messages are counted and cut, and only in a response that would have been completed.
    """
    left = limit
    for number, item in enumerate(output if ending.status == "completed" else ()):
        if item["type"] == "message":
            if (own := count_words((item,))) > left:
                return [*output[:number], _cut_message(item, left)], incomplete()
            left -= own
    return output, ending


def _cut_message(message: Json, left: int) -> Json:
    parts: list[Json] = []
    for part in message["content"]:
        name = "refusal" if part["type"] == "refusal" else "text"
        ends = [word.end() for word in _WORD.finditer(part[name])]
        if left <= 0:
            break
        parts.append(part if len(ends) <= left else _cut_part(part, name, ends[left - 1]))
        left -= len(ends)
    return {**message, "status": "incomplete", "content": parts}


def _cut_part(part: Json, name: str, length: int) -> Json:
    made = {**part, name: part[name][:length]}
    if part.get("annotations"):
        made["annotations"] = [note for note in part["annotations"] if _annotation_end(note) <= length]
    if part.get("logprobs"):
        made["logprobs"] = list(_cut_logprobs(part["logprobs"], length))
    return made


def _annotation_end(note: Json) -> int:
    return int(note.get("end_index", note.get("index")) or 0)


def _cut_logprobs(entries: Sequence[Json], length: int) -> Iterator[Json]:
    ends = accumulate(len(entry["token"]) for entry in entries)
    return (entry for entry, end in zip(entries, ends, strict=True) if end <= length)
