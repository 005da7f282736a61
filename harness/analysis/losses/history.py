"""The transcript as a whole: nothing stands in it twice, and every item in it is still what it was."""

from __future__ import annotations

import re
from ast import literal_eval
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from warnings import catch_warnings, simplefilter

import orjson

from harness.analysis.history import (
    MESSAGE,
    Asked,
    Key,
    Past,
    Spoken,
    call_of,
    is_assistant,
    kind,
    named,
    output_of,
    repeated,
    text_of,
)
from harness.analysis.loss import Facts, loss
from harness.analysis.losses.examples import ASK, DEPLOY, SAY, TEXT, THEN, THINK, assistant, call, output, user
from harness.analysis.losses.text import doubled
from harness.api.transcript import CALL_OF_OUTPUT, CLIENT_CALL_NAMES
from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.core.loose_json import as_string, objects_in
from harness.items import function_call, message

ENOUGH = 24
"""Characters of a text that nobody says twice by chance."""
SHORTEST, RECENT = 8, 8
"""Characters of a user's text that nobody says twice in one breath, and the earlier requests it is looked for in."""
LONGEST = 100_000
"""Characters of a text beyond which it is not read as an item."""
_OK = message("Done.")
_DONE = assistant("Done.")


@loss(
    message="{count} that this transcript holds already {stand} in it again; the first is {what}, said in exchange {said}",
    fix="Send the whole transcript, or name what it continues and send only what is new; store each turn once.",
    loses=[
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [ASK, assistant(TEXT), THEN]}, turns=[SAY]),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [ASK, _DONE, THEN]}, turns=[_OK]),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [call(), output()]}, turns=[DEPLOY]),
        after(
            Case({}, on="POST /conversations"),
            {"conversation": "{0.id}", "input": [ASK]},
            {"conversation": "{0.id}", "input": [ASK, assistant(TEXT), THEN]},
            turns=[SAY],
        ),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), ASK, assistant(TEXT), THEN]}, turns=[SAY]),
        after({"input": [ASK]}, {"input": [ASK, _DONE, ASK, _DONE, THEN]}, turns=[_OK]),
        after({"input": [ASK]}, {"input": [ASK, *[call(), output()] * 2, THEN]}, turns=[DEPLOY]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, call(), output(), _DONE, ASK, _DONE, THEN]},
            turns=[DEPLOY, _OK],
        ),
        after({"input": [ASK]}, {"input": [user(f"{ASK['content']}\n\n{ASK['content']}"), _DONE, THEN]}, turns=[_OK]),
    ],
    keeps=[
        after({"input": [ASK]}, {"input": [user("Again: Ship v2, please."), _DONE, THEN]}, turns=[_OK]),
        after({"input": [user("no")]}, {"input": [user("no no")]}, turns=[_OK]),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [ASK]}, turns=[SAY]),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[SAY]),
        after(
            {"input": [ASK]},
            {"input": [ASK]},
            {"input": [ASK, assistant(TEXT), ASK, assistant(TEXT)]},
            turns=[SAY, SAY],
        ),
        after({"input": [ASK]}, {"input": [ASK, _DONE, THEN, _DONE, user("Thanks.")]}, turns=[_OK]),
        after({"input": [ASK, assistant(TEXT), ASK]}, {"input": [*[ASK, assistant(TEXT)] * 2, THEN]}, turns=[SAY]),
        after({"input": [ASK]}, {"input": [THEN, user(TEXT), assistant(TEXT)]}, turns=[SAY]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, *[call(), output()] * 2, THEN]},
            turns=[DEPLOY, DEPLOY],
        ),
    ],
)
def history_replayed(asked: Asked, past: Past) -> Iterator[Facts]:
    """A request repeats what its transcript holds already: what the model said once stands there twice.

    With `previous_response_id` or `conversation` the transcript is what these hold, then the input. Calls and items with
    ids are known by these; words are, when they are long, or follow the same words again. What the model said as often, or
    what stood there before it was said, is no repetition; nor is a user who says the same again.
    """
    seen = Counter(key for item in asked.held if (key := past.key(item)))
    pairs = repeated(asked.keys) | repeated([key for key in asked.keys if key[0] not in ("call", "output")])
    again = [(at, past.origins(item)[0]) for at, item in asked.given if _is_again(item, seen, pairs, past)]
    found = [(at, said.number, said.item) for at, said in again] or list(_doubled(asked, past))
    for at, number, item in found[:1]:
        count, stand = (f"{len(found)} items", "stand") if len(found) > 1 else ("1 item", "stands")
        yield {"at": at, "said": number, "what": named(item), "count": count, "stand": stand}


def _doubled(asked: Asked, past: Past) -> Iterator[tuple[str, int, Json]]:
    """The user's words that stand several times in one message, where an earlier request had them once in its place."""
    for place, (at, item) in enumerate(asked.given):
        for reply in past.replies[-RECENT:] if item.get("role") == "user" and not asked.held else ():
            was = next((one for _, one in reply.to.given[place : place + 1]), {})
            if kind(was) == MESSAGE and len(text_of(was)) >= SHORTEST and doubled(text_of(was), text_of(item)):
                yield at, reply.to.number, was
                break


def _is_again(item: Json, seen: Counter[Key], pairs: Counter[tuple[Key, Key]], past: Past) -> bool:
    """Whether an item stands in its transcript more often than it can by right; counts it."""
    if (key := past.key(item)) is None:
        return False
    seen[key] += 1
    right = past.times[key]
    if not right or not key[1] or seen[key] <= right:
        return False
    evident = not is_assistant(item) or len(key[1]) >= ENOUGH or as_string(item.get("id")) in past.by_id
    return evident or any(count > right for (_, second), count in pairs.items() if second == key)


_PRINTED = re.compile(r"[A-Z]\w*\(.*?\b(?:call_id|id)='(?P<id>[^']+)'.*\)", re.S)
"""An object of a program, as it is printed."""
_TYPED = ("reasoning", *CLIENT_CALL_NAMES, *CALL_OF_OUTPUT)


@loss(
    message="{what}, {verb} in exchange {said}, {became}",
    fix="Keep the items of a transcript as they are, each with its `type` and its members.",
    loses=[
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, user(""), user(""), assistant(TEXT), THEN]},
            turns=[DEPLOY, SAY],
        ),
        after({"input": [ASK]}, {"input": [ASK, user(""), assistant(TEXT), THEN]}, turns=[[THINK, SAY]]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, user(str(call())), assistant(TEXT), THEN]},
            turns=[DEPLOY, SAY],
        ),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, user(orjson.dumps(output()).decode()), assistant(TEXT), THEN]},
            turns=[DEPLOY, SAY],
        ),
        after(
            {"input": [ASK]},
            {"input": [ASK, assistant(str([{"type": "output_text", "text": TEXT}])), THEN]},
            turns=[SAY],
        ),
    ],
    keeps=[
        after(
            {"input": [ASK]}, {"input": [ASK, user(f"[{{'type': 'output_text', 'text': {TEXT!r}}}, 7]")]}, turns=[SAY]
        ),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), user("")]}, turns=[SAY]),
        after({"input": [ASK]}, {"input": [ASK, call(), user(""), output()]}, turns=[[THINK, DEPLOY]]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, user(f"The conversation so far:\n1. user: Ship v2.\n2. {call()}\n3. {output()}")]},
            turns=[DEPLOY, SAY],
        ),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [user(orjson.dumps([ASK, call(), output()]).decode())]},
            turns=[DEPLOY, SAY],
        ),
        after({"input": [ASK]}, {"input": [user('{"type": "report", "ref": "v2"}')]}, turns=[function_call("f", "{}")]),
    ],
)
def item_coerced(asked: Asked, past: Past) -> Iterator[Facts]:
    """A typed item became a message: an empty one, or one that is the JSON or the print of the item, or of its parts.

    A transcript that is told within a text is none of this, nor is an assistant message that is empty beside a call.
    """
    here = {id for item in asked.items if kind(item) != MESSAGE for id in _ids(item)}
    for index, (at, item) in enumerate(asked.given):
        if kind(item) != MESSAGE:
            continue
        words = text_of(item).strip()
        if _is_empty(item):
            for number, lost in _gone(asked, index, here, past):
                yield _facts(at, number, lost, "is gone, and an empty message stands in this request")
        elif (found := _named_in(words, past)) and not here & set(_ids(found[1])):
            yield _facts(at, *found, "became a message with its JSON as text")


def _facts(at: str, number: int, item: Json, became: str) -> Facts:
    verb = "sent" if output_of(item) else "said"
    return {"at": at, "said": number, "what": named(item), "verb": verb, "became": became}


def _is_empty(item: Json) -> bool:
    content = item.get("content")
    bare = not content or (isinstance(content, list) and all(_is_blank(part) for part in content))
    return bare and kind(item) == MESSAGE and item.get("role") != "assistant"


def _is_blank(part: Any) -> bool:
    return isinstance(part, dict) and part.get("text") == ""


def _gone(asked: Asked, index: int, here: set[str], past: Past) -> Iterator[tuple[int, Json]]:
    """The newest typed item of the same conversation that is not in its transcript any more.

    Reasoning may be left out by right: it counts where an empty message stands in its place.
    """
    behind = next((item for _, item in asked.given[index:] if not _is_empty(item)), {})
    follower = past.origin(behind)
    for reply in reversed(past.replies):
        if reply.to.keys[:1] == asked.keys[:1]:
            for item in reversed(reply.output):
                counts = call_of(item) or (kind(item) == "reasoning" and follower and follower.reply is reply)
                if counts and not here & set(_ids(item)):
                    yield reply.number, item
                    return


def _ids(item: Json) -> list[str]:
    return list(
        filter(None, (as_string(item.get("id")), call_of(item), output_of(item) and f"output of {output_of(item)}"))
    )


def _named_in(words: str, past: Past) -> tuple[int, Json] | None:
    """The item that a text is the JSON or the print of, with the exchange that told it."""
    if printed := _PRINTED.fullmatch(words):
        said = past.by_id.get(printed["id"]) or next(iter(past.by_call.get(printed["id"], ())), None)
        return (said.number, said.item) if said and kind(said.item) in _TYPED else None
    if said := _parts_in(words, past):
        return said.number, said.item
    item = _read(words)
    if kind(item) in CALL_OF_OUTPUT:
        return next(iter(past.outputs.get(output_of(item), ())), None)
    said = past.origin(item) if kind(item) in _TYPED else None
    return (said.number, said.item) if said else None


def _parts_in(words: str, past: Past) -> Spoken | None:
    """The message whose parts a text is the JSON or the print of."""
    parts = _objects(words)
    if not parts or any(not isinstance(part, dict) or kind(part) not in ("output_text", "text") for part in parts):
        return None
    return next(iter(past.by_text.get(text_of({"content": parts}).strip(), ())), None)


def _read(words: str) -> Json:
    """The one object that a text is; empty for other texts."""
    found = list(objects_in(_objects(words)))
    return found[0] if len(found) == 1 else {}


def _objects(words: str) -> list[Any]:
    """The list that a text is, or the one object in a list, as JSON or as Python prints it; empty for other texts."""
    if words[:1] not in ("{", "[") or "type" not in words or len(words) > LONGEST:
        return []
    value = _parsed(words)
    return value if isinstance(value, list) else [value]


def _parsed(words: str) -> Any:
    for read in (orjson.loads, literal_eval):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError), catch_warnings():
            simplefilter("ignore")  # a text is no program: its escapes may be wrong
            return read(words)
    return None
