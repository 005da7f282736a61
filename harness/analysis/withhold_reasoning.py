"""Which reasoning the API withholds from the model: for models from GPT-6.2 on, what follows an edit of the history.

The guide says what an edit is, and the API's types how an answer lists what was withheld; no such answer was recorded.
What both leave open is assumed here, and withholds as little as they allow:

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
from typing import NamedTuple

import orjson

from harness.analysis.prompt_prefix import view_items, view_tools
from harness.api.encrypted_content import owner_of_content
from harness.api.models import Model
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string

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
    """Yield how the reasoning in the output for a request with these items was said, by its id and its ciphertext."""
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
