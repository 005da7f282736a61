"""What a model reads of a request, where two requests first differ in it, and which reasoning is therefore withheld.

A model reads an item without its ids, status, annotations and other members that are for the client; a string is the
same to it as one part with this text. What it reads of an item is the item's view.

For models from GPT-6.2 on, the API withholds reasoning that follows an edit of the history. The guide says what an edit
is, and the API's types how an answer lists what was withheld; no such answer was recorded. What both leave open is
assumed here, and withholds as little as they allow:

- an answer from which nothing was withheld does not have the member;
- `safety_identifier`, else `user`, is the end user, and a change is one from a name to another;
- only a downgrade is a change of the model that counts: from astra to sol, from sol to terra, from terra to luna;
- only reasoning of models that withhold is bound to its history;
- what a request continues by id is compared as its `input` is, so that other `tools` count in a chain, too;
- reasoning that was left out, ids, annotations, and details of calls that the API executes are not part of the history;
- `turn_boundary` is the reason in `reasoning.context: current_turn` for reasoning before the last user message.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from harness.api.encrypted_content import owner_of_content
from harness.api.models import Model
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.text import count_shared, quote, shorten_json
from harness.items.kind import CALL_OF_OUTPUT

ABSENT: Final = object()
"""The value of a place that a request does not have."""
CONTEXT = 16
"""How many characters before the first that differs are quoted."""
MAX_DEPTH = 50
"""How deep a place can be; values below it are compared whole."""
_TEXT_PARTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text")
_PART_MEMBERS = ("type", "image_url", "file_id", "file_url", "file_data", "filename", "input_audio", "refusal")
_CALL_MEMBERS = ("type", "name", "arguments", "input")
_CLIENT_CALLS = frozenset({"function_call", "custom_tool_call"})
_UNREAD_OF_TOOLS = ("authorization", "headers", "require_approval", "container")
_UPDATES = ("configuration_update", "additional_tools")
"""The types of items that change settings from their place on."""


class FirstDifference(NamedTuple):
    """The first place at which two values differ, such as `[2].description`, with both values there."""

    at: str
    before: Any
    now: Any

    @property
    def texts(self) -> tuple[str, str]:
        """Both values, quoted from shortly before the first character that differs; `nothing` for an absent one."""
        start = 0
        if isinstance(self.before, str) and isinstance(self.now, str):
            start = max(count_shared(self.before, self.now) - CONTEXT, 0)
        return _show(self.before, start), _show(self.now, start)


def _show(value: Any, start: int) -> str:
    if value is ABSENT:
        return "nothing"
    if isinstance(value, str):
        return quote(f"{'…' if start else ''}{value[start:]}")
    return shorten_json(value)


def find_difference(before: Any, now: Any, at: str = "", depth: int = MAX_DEPTH) -> FirstDifference | None:
    """Find the first place at which two JSON values differ, in the order of the earlier one; None if they are equal."""
    if before == now:
        return None
    if depth and isinstance(before, dict) and isinstance(now, dict):
        names = [*before, *(name for name in now if name not in before)]
        pairs: Iterator[tuple[str, Any, Any]] = (
            (f"{at}.{name}" if at else name, before.get(name, ABSENT), now.get(name, ABSENT)) for name in names
        )
    elif depth and isinstance(before, list) and isinstance(now, list):
        pairs = ((f"{at}[{index}]", _at(before, index), _at(now, index)) for index in range(max(len(before), len(now))))
    else:
        return FirstDifference(at, before, now)
    found = (find_difference(was, is_now, place, depth - 1) for place, was, is_now in pairs)
    return next(filter(None, found), None)


def _at(values: Sequence[Any], index: int) -> Any:
    return values[index] if index < len(values) else ABSENT


def view_tools(body: Json) -> list[Json]:
    """Return what a model reads of the tools of a request."""
    return [
        {name: value for name, value in tool.items() if value is not None and name not in _UNREAD_OF_TOOLS}
        for tool in objects_in(body.get("tools"))
    ]


def view_items(items: Sequence[Json]) -> list[Json | None]:
    """Return the view of each item; None for reasoning, which is compared by what came before it."""
    return [_view_item(item) for item in items]


def _view_item(item: Json) -> Json | None:
    head, content = split_item(item)
    return {**head, content: _view_content(item.get(content))} if head and content else head


def split_item(item: Json) -> tuple[Json | None, str]:
    """Return what a model reads of an item besides its content, and the name of the member with the content, if any.

    Reasoning has neither.
    """
    kind = as_string(item.get("type"))
    if "role" in item and kind in ("message", ""):
        # A reasoning model reads a system message as the developer's.
        return {"role": "developer" if item["role"] == "system" else item["role"]}, "content"
    if kind in ("reasoning", "item_reference"):
        return None, ""
    if kind in CALL_OF_OUTPUT:
        return {"type": kind}, "output"
    if kind in _UPDATES:
        return {name: value for name, value in item.items() if name not in ("id", "agent") and value is not None}, ""
    names = _CALL_MEMBERS if kind in _CLIENT_CALLS else ("type", "name")
    return {name: _read_json(item[name]) for name in names if item.get(name) is not None}, ""


def view_part(part: Json) -> Any:
    """Return what a model reads of a part of a message or an output: the text of one with text."""
    if part.get("type") in _TEXT_PARTS:
        return as_string(part.get("text"))
    return {name: part[name] for name in _PART_MEMBERS if part.get(name) is not None}


def _view_content(content: Any) -> Any:
    """Return the parts of a message or an output; texts that follow each other are one, and a single one a string."""
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in map(view_part, objects_in(content)):
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts


def _read_json(value: Any) -> Any:
    """Return the value that the arguments of a call stand for: how they are spaced is not compared."""
    if not isinstance(value, str):
        return value
    try:
        read = orjson.loads(value)
        orjson.dumps(read)  # what is nested too deep to be written is too deep to be compared
        return read
    except (ValueError, TypeError):
        return value


_TIERS = ("astra", "sol", "terra", "luna")
_TIER = re.compile(rf"(gpt-\d+(?:\.\d+)?)-({'|'.join(_TIERS)})")


class Thought(NamedTuple):
    """A reasoning item as the model gave it: the model, the end user, and the digest of the history before."""

    id: str
    model: str
    user: str
    prefix: int


def read_thoughts(
    body: Json, family: Model, items: Sequence[Json], output: Sequence[Json]
) -> Iterator[tuple[str, Thought]]:
    """Yield the reasoning in the output for a request with these items as the model gave it, by id and by ciphertext."""
    prefixes = digest_prefixes(body, family, [*items, *output])[len(items) :]
    for item, prefix in zip(output, prefixes, strict=False):
        if item["type"] == "reasoning":
            thought = Thought(item["id"], as_string(body.get("model")), end_user(body), prefix)
            for name in filter(None, (item["id"], item.get("encrypted_content"))):
                yield name, thought


def find_withheld(
    body: Json, family: Model, items: Sequence[Json], organization: str, thoughts: Mapping[str, Thought]
) -> list[Json]:
    """List the reasoning among the items of a request that the model does not get, as its answer shows it."""
    prefixes = None if any(item.get("type") == "compaction" for item in items) else digest_prefixes(body, family, items)
    turn = start_of_turn(body, family, items)
    withheld = []
    for place, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        id, ciphertext = as_string(item.get("id")), as_string(item.get("encrypted_content"))
        owner, thought = owner_of_content(ciphertext), thoughts.get(ciphertext) or thoughts.get(id)
        reason = "turn_boundary" if place < turn else None
        if owner and owner.organization != organization:
            reason = "organization_mismatch"
        elif thought:
            reason = _find_mismatch(thought, body, prefixes[place] if prefixes else None) or reason
        if reason:
            id = thought.id if thought else id or (owner.item if owner else "")
            withheld.append({"id": id, "action": "removed", "reason": reason, "type": "reasoning"})
    return withheld


def _find_mismatch(thought: Thought, body: Json, prefix: int | None) -> str | None:
    user = end_user(body)
    if user and thought.user and user != thought.user:
        return "end_user_mismatch"
    if _is_downgrade(thought.model, as_string(body.get("model"))):
        return "model_mismatch"
    return None if prefix in (None, thought.prefix) else "prefix_mismatch"


def end_user(body: Json) -> str:
    """Return the name of a request's end user; empty without one."""
    return as_string(body.get("safety_identifier")) or as_string(body.get("user"))


def _is_downgrade(before: str, now: str) -> bool:
    was, asked = _TIER.match(before), _TIER.match(now)
    return bool(was and asked and was[1] == asked[1] and _TIERS.index(was[2]) < _TIERS.index(asked[2]))


def start_of_turn(body: Json, family: Model, items: Sequence[Json]) -> int:
    """Return the index from which a request's reasoning is read: 0, or that of the last user message."""
    context = as_object(body.get("reasoning")).get("context")
    if (family.turns if context in (None, "auto") else context) != "current_turn":
        return 0
    return next((place for place in range(len(items) - 1, -1, -1) if items[place].get("role") == "user"), 0)


def view_settings(body: Json, family: Model) -> Json:
    """Return the settings of a request that are part of the history of its reasoning, as the model reads them."""
    settings: Json = {
        "tools": view_tools(body),
        "text": {"format": as_object(body.get("text")).get("format") or {"type": "text"}},
        "reasoning": {"effort": as_object(body.get("reasoning")).get("effort") or family.effort},
    }
    # From GPT-6.2 on the API appends them to the input, for this request only.
    return settings if family.withholds else {**settings, "instructions": body.get("instructions")}


def digest_prefixes(body: Json, family: Model, items: Sequence[Json]) -> list[int]:
    """Return the digests of the history before each item, and of the whole."""
    digests = [_extend_digest(0, view_settings(body, family))]
    for view in view_items(items):
        digests.append(digests[-1] if view is None else _extend_digest(digests[-1], view))
    return digests


def _extend_digest(digest: int, view: Json) -> int:
    try:
        return hash((digest, orjson.dumps(view, option=orjson.OPT_SORT_KEYS)))
    except TypeError:  # a value nested deeper than it can write, or no JSON: not compared
        return digest
