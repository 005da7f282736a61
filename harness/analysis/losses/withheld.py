"""Reasoning that comes back, but is withheld from the model, because the client edited the history before."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from harness.analysis.history.history import History
from harness.analysis.history.items import describe_item, item_type
from harness.analysis.history.request import HistoryRequest, OutputItem
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import ENCRYPTED_THOUGHT, STATELESS, TOOLS, LossFacts, ask, loss, output, sketch, user
from harness.analysis.prompt_prefix import FirstDifference, end_user, find_difference, view_items, view_settings
from harness.api.models import MODELS, Model
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string

_APPEND = (
    "Send the history back as it was and append to it; `/responses/compact` and `context_management` may shorten it."
)
_FIXES: Mapping[str, str] = {
    "tools": "Keep `tools` and their order: append an `additional_tools` item to add one, set a `tool_choice` of type "
    "`allowed_tools` to permit fewer.",
    "text": "Keep `text.format`, and append a `configuration_update` item with the new format to `input`.",
    "reasoning": "Keep `reasoning.effort`, and append a `configuration_update` item with the new effort to `input`.",
    "instructions": "Keep `instructions`, and append a developer message with what is new to `input`.",
    "developer": "Leave the developer message as it was, and append another with what is new to `input`.",
    "output": "Shorten outputs, images and files before they are sent for the first time, never afterwards.",
    "model": "Continue a history with the model that wrote its reasoning.",
    "user": "Continue a history with the `safety_identifier` that it began with, and begin another for another user.",
    "organization": "Continue a history with a key of the organization in which it began.",
    "turn": "Leave out `reasoning.context`, or the reasoning of earlier turns.",
}
"""What to do instead, by what the client changed; the guide recommends the first seven."""


_SETTINGS: Mapping[str, str] = {"text": "text.format", "reasoning": "reasoning.effort", "instructions": "instructions"}
"""The place of a setting, without the names in a schema, which may be any text."""


class _Edit(NamedTuple):
    """What a client changed before a reasoning item: the place in its request, the change in words, and the fix."""

    at: str
    message: str
    fix: str


_MODERN: Json = {**STATELESS, "model": "gpt-6.2-astra"}
_RULES: Json = {"role": "developer", "content": "You run operations."}
_AS_JSON: Json = {"format": {"type": "json_object"}}
_SECOND: Json = {**ENCRYPTED_THOUGHT, "encrypted_content": "{1.output.0.encrypted_content}"}


def _then(*sent: str | Json, first: Sequence[str | Json] = ("P",), was: Json | None = None, **now: Any) -> Case:
    """Ask and continue the tool loop with this input; `was` and `now` are the other members of both requests."""
    asked = {**_MODERN, "input": sketch(*first), **(was or {})}
    return ask(asked, {**_MODERN, "input": sketch(*sent or ["P T C O"]), **now}, turns=["T C"])


@loss(
    message="the model did not get {what} from exchange {said} ({reason}): {why}",
    fix=_APPEND,
    loses=[
        _then(_RULES, "P T C O", first=[{**_RULES, "content": "You plan."}, "P"]),
        _then(_RULES, "P T C O"),
        _then("P T C O", first=[_RULES, "P"]),
        ask("P > T C", "P T C O > T C2", ["P T C", output(value="v2"), _SECOND, "C2 O2"], **_MODERN),
        _then(was={"tools": TOOLS}, tools=TOOLS[::-1]),
        _then(was={"tools": TOOLS[:1]}, tools=TOOLS),
        _then(was={"tools": TOOLS}, tools=TOOLS[:1]),
        _then(was={"tools": TOOLS}, tools=[{**TOOLS[0], "description": "Deploy."}, TOOLS[1]]),
        _then("P T C O", user("As JSON."), text=_AS_JSON),
        _then(reasoning={"effort": "high"}),
        _then(model="gpt-6.2-sol"),
        _then(was={"safety_identifier": "ann"}, safety_identifier="bob"),
        ask(
            {"model": "gpt-6.2-sol", "input": sketch("P"), "tools": TOOLS},
            {"model": "gpt-6.2-sol", "input": [output()], "previous_response_id": "{0.id}"},
            turns=["T C"],
        ),
    ],
    keeps=[
        _then(),
        _then(was={"tools": TOOLS}, tools=TOOLS),
        _then("P T C O", {"role": "developer", "content": "Be brief."}),
        _then(instructions="Be brief.", tool_choice="none", metadata={"run": "2"}, safety_identifier="ann"),
        _then("P T C O", {"type": "additional_tools", "role": "developer", "tools": TOOLS}),
        _then("P T C O", {"type": "configuration_update", "reasoning": {"effort": "high"}}),
        _then(
            was={"tools": TOOLS},
            tools=TOOLS,
            tool_choice={"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "deploy"}]},
        ),
        _then(_RULES, "P"),
        _then(_RULES, "P T C O", model="gpt-6.1-sol"),
        _then(_RULES, "P T C O", was={"model": "gpt-6.1-sol"}),
        _then(was={"model": "gpt-6.2-sol"}),
        _then("P T C O N", reasoning={"context": "current_turn"}),
        ask("P > T C", [{"type": "compaction", "encrypted_content": "gAAAAABpZm9yZWlnbg=="}, "T C O"], **_MODERN),
    ],
)
def reasoning_withheld(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Answers list reasoning that the model did not get, mostly since the client edited the history before.

    Models from GPT-6.2 on drop reasoning after an edit of the history, and reasoning of a better model, of another end
    user or organization. The first of each answer and reason is reported, with the first place that differs.
    """
    seen = {"turn_boundary"}
    for entry in request.withheld:
        reason = as_string(entry.get("reason"))
        if reason not in seen:
            seen.add(reason)
            yield _withheld_facts(as_string(entry.get("id")), reason, request, history)


def _withheld_facts(id: str, reason: str, request: HistoryRequest, history: History) -> LossFacts:
    original, place = history.by_id.get(id), _find_place(id, request, history)
    what = describe_item(original.item) if original else f"reasoning ({id})"
    change = _find_change(reason, original, place, request)
    said = original.number if original else request.number
    facts = {"said": said, "what": what, "reason": reason, "why": change.message, "fix": change.fix}
    return {"at": change.at or _name_place(place, request), **facts}


@loss(
    message="{what} from exchange {said} comes back {how}",
    fix=_APPEND,
    strict=True,
    loses=[
        _then(_RULES, "P T C O", was={"model": "gpt-5.6-sol"}, model="gpt-5.6-sol"),
        _then(was={"model": "gpt-5.6-sol"}, model="gpt-5.6-sol", instructions="Be brief."),
        _then("P T C O A N", reasoning={"context": "current_turn"}),
    ],
    keeps=[
        _then(was={"model": "gpt-5.6-sol"}, model="gpt-5.6-sol"),
        _then("P T C O A N"),
        ask("P > A", [_RULES, "P A N"], model="gpt-5.6-sol"),
    ],
)
def reasoning_outdated(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Reasoning comes back after an edit of the history before, or for a model that reads only reasoning of its turn.

    Models before GPT-6.2 read it all the same, and only the cache is lost.
    """
    family = _family_of(request)
    for entry in request.withheld:
        if entry.get("reason") == "turn_boundary":
            yield {
                **_withheld_facts(as_string(entry.get("id")), "turn_boundary", request, history),
                "how": "a turn too late",
            }
            return
    if family.withholds or request.withheld:
        return
    for place, item in enumerate(request.transcript.items):
        original = history.find_output(item) if item_type(item) == "reasoning" else None
        if original and (change := _find_edit(original, place, request)):
            how = f"after an edit of what came before it: {change.message}"
            yield original.lost(change.at, how=how, fix=change.fix)
            return


def _find_place(id: str, request: HistoryRequest, history: History) -> int:
    """Find the index in the transcript of the reasoning with an id; that of its end without any."""
    for place, item in enumerate(request.transcript.items):
        if item_type(item) == "reasoning":
            original = history.find_output(item)
            if id in (item.get("id"), original and original.item.get("id")):
                return place
    return len(request.transcript.items)


def _name_place(place: int, request: HistoryRequest) -> str:
    """Return the place in the request of an item of its transcript; `input` for an item of the continued response."""
    own = place - len(request.previous.items)
    return request.placed_items[own][0] if 0 <= own < len(request.placed_items) else "input"


def _find_change(reason: str, original: OutputItem | None, place: int, request: HistoryRequest) -> _Edit:
    """Find what the client changed so that an item is withheld for this reason."""
    body, before = request.body, original.reply.request.body if original else {}
    if reason == "prefix_mismatch":
        edit = original and _find_edit(original, place, request)
        return edit or _Edit("", "the client edited what came before it", _APPEND)
    if reason == "model_mismatch":
        change = f"{before.get('model', 'another model')} wrote it, the client asks {body.get('model')}"
        return _Edit("model", change, _FIXES["model"])
    if reason == "end_user_mismatch":
        change = f"it belongs to another end user than {end_user(body)!r}"
        return _Edit("safety_identifier", change, _FIXES["user"])
    if reason == "organization_mismatch":
        return _Edit("", "it belongs to another organization", _FIXES["organization"])
    return _Edit("", "the request has `reasoning.context: current_turn`", _FIXES["turn"])


def _find_edit(original: OutputItem, place: int, request: HistoryRequest) -> _Edit | None:
    """Find the first edit before a reasoning item, which is at this place of the transcript."""
    if request.is_compacted:
        return None
    asked = original.reply.request
    was, now = view_settings(asked.body, _family_of(asked)), view_settings(request.body, _family_of(request))
    if found := find_difference(was, {name: now.get(name) for name in was}):
        return _setting_change(found, was, now)
    said = _read_items([*asked.transcript.items, *original.reply.output[: original.index]])
    sent = _read_items(request.transcript.items[:place])
    for count, (original_item, sent_item) in enumerate(zip_longest(said, sent, fillvalue=_END)):
        if original_item.view != sent_item.view:
            at = _name_place(place if sent_item is _END else sent_item.place, request)
            return _item_change(at, [*said[count:], _END], [*sent[count:], _END])
    return None


class _Read(NamedTuple):
    """An item of a transcript, its index, and what the model reads of it."""

    item: Json
    place: int
    view: Json

    def __str__(self) -> str:
        return f"{self.view['role']} message" if "role" in self.view else describe_item(self.item)


_END = _Read({}, -1, {})


def _read_items(items: Sequence[Json]) -> list[_Read]:
    """Return what is read of each item; reasoning has no view, as it is no part of what comes before."""
    views = enumerate(zip(items, view_items(items), strict=True))
    return [_Read(item, place, view) for place, (item, view) in views if view is not None]


def _setting_change(found: FirstDifference, was: Json, now: Json) -> _Edit:
    name = found.at.partition(".")[0].partition("[")[0]
    one, other = found.texts
    change = f"the client changed `{found.at}` from {one} to {other}"
    if name != "tools":
        return _Edit(_SETTINGS[name], change, _FIXES[name])
    kept = [tool for tool in was["tools"] if tool in now["tools"]]
    if len(kept) == len(was["tools"]):
        is_reordered = len(kept) == len(now["tools"])
        change = f"the client {'reordered' if is_reordered else 'added to'} `tools`: `{found.at}` is now {other}"
    elif len(kept) == len(now["tools"]):
        change = f"the client removed from `tools`: `{found.at}` was {one}"
    return _Edit(found.at.partition(".")[0], change, _FIXES[name])


def _item_change(at: str, said: Sequence[_Read], sent: Sequence[_Read]) -> _Edit:
    """Describe the edit from the items `said` to the items `sent`, of which the first differ."""
    one, other = said[0], sent[0]
    if one is not _END and (other is _END or said[1].view == other.view):
        return _Edit(at, f"the client dropped the {one}", _APPEND)
    if one is _END or sent[1].view == one.view:
        return _Edit(at, f"the client inserted the {other}", _fix_of(other.view))
    if (item_type(one.item), one.view.get("role")) != (item_type(other.item), other.view.get("role")):
        return _Edit(at, f"the client replaced the {one} by the {other}", _APPEND)
    found = find_difference(one.view, other.view) or FirstDifference("", one.view, other.view)
    are_texts = isinstance(found.before, str) and isinstance(found.now, str)
    verb = "shortened" if are_texts and len(found.now) < len(found.before) else "changed"
    was, now = found.texts
    return _Edit(at, f"the client {verb} `{found.at}` of the {one} from {was} to {now}", _fix_of(one.view))


def _fix_of(view: Json) -> str:
    if view.get("role") in INSTRUCTION_ROLES:
        return _FIXES["developer"]
    return _FIXES["output"] if "output" in view else _APPEND


def _family_of(request: HistoryRequest) -> Model:
    return MODELS.defaults(as_string(request.body.get("model")))
