"""Calls that the client executes: none may be lost before it is answered, and none may change."""

import json
from collections.abc import Iterator, Mapping, Set
from itertools import takewhile
from typing import Any

from harness.analysis.history.history import History
from harness.analysis.history.items import MESSAGE, client_call_id, is_assistant, is_hosted, item_type, message_text
from harness.analysis.history.request import HistoryRequest, OutputItem, facts_about
from harness.analysis.loss import PROMPT, TOOLS, LossFacts, ask, asks, body, call, chained, loss, output, user
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.core.text import shorten_json
from harness.items import function_call, mcp_approval_request, mcp_call, message

HOSTED_MEMBERS = ("server_label", "name", "arguments", "action", "code", "queries")
"""The members of a call that the API has executed which define what was executed."""
CONTENT_MEMBERS = ("server_label", "namespace", "name", "arguments", "input", "action", "actions", "operation")
"""The members of a call that define what is executed."""
_OPS_AGENT: Json = {"instructions": "You run operations.", "tools": TOOLS}


MOST_NAMESAKES = 8
"""The maximum number of calls with the same `call_id`, the latest ones, that a call is compared with."""
MOST_KEPT = 2
"""A client that shortens a long tool loop on purpose keeps more calls than this."""
_PROD: Json = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org"}
_APPROVAL_REQUEST = mcp_approval_request("prod", "deploy", {"ref": "v2"})
_SHOWN: Json = {"id": "{0.output.0.id}", "server_label": "prod", "name": "deploy", "arguments": '{"ref":"v2"}'}
_APPROVAL_BACK: Json = {"type": "mcp_approval_request", **_SHOWN}
_APPROVED: Json = {"type": "mcp_approval_response", "approval_request_id": "{0.output.0.id}", "approve": True}


def _hosted_case(**changed: Any) -> Case:
    """Build an example in which a call that the API has executed comes back with changed members."""
    made = mcp_call("prod", "deploy", '{"ref":"v2"}', output="v2 is live")
    back = {"type": "mcp_call", **_SHOWN, "output": "v2 is live", **changed}
    return ask(["P >", made, "A"], ["P", back, "A N"], tools=[{**_PROD, "require_approval": "never"}])


@loss(
    message="{what} from exchange {said} {where}: the client dropped it",
    fix="Send the call back with its output; if it was refused or abandoned, say so in the output.",
    loses=[
        *asks("P > A C2 C | P A C2 O2; P > A C | P A N; P > C | P N", **_OPS_AGENT),
        *asks("P > C | P O N; P > C | P C O > C2 | P C2 O2; P > C C2 | P C O C2 O2 > A | P C O A N"),
        ask(["P > A", _APPROVAL_REQUEST], "P A N"),
    ],
    keeps=[
        *asks("P > C | P C O N; P > C | P C O > A | P A N; P > C | P C | N"),
        ask("P > C", chained("O")),
        ask("P > C", "P > A", "P A N", **_OPS_AGENT),
        ask(body("P", **_OPS_AGENT), body("P A", instructions="You are the accountant."), turns=["A C"]),
        ask(body("P", tools=TOOLS), body("P N", tools=TOOLS[1:]), turns=["C"]),
        ask("P > C", ["P", call("{0.output.0.id}"), output("{0.output.0.id}"), "N"]),
        ask("P > C", ["P", user("Correct the arguments of deploy({}), id={0.output.0.id}: `ref` is missing.")]),
        ask("P > C", ["P", user("Wrong arguments of deploy, id={0.output.0.id}: which ref?")], **_OPS_AGENT),
        ask("P > C", ["P", call("call_own"), output("call_own"), "N"]),
        ask(
            body("P", **_OPS_AGENT),
            Case({"model": "gpt-4.1", "input": [PROMPT]}, on="POST /responses/compact"),
            body("P", {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}, "N", **_OPS_AGENT),
            turns=["C"],
        ),
    ],
)
def call_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Calls that were never answered are missing from a request that continues from them.

    A request continues from a call if it contains other output of the same response, or follows the user messages that
    led to the call, and comes from the same agent: a hand-off may omit the calls of another agent. A message may quote
    a call instead, by name and id. A call that was answered may be omitted later, together with its output, but not
    within the same turn of the model, nor without the other calls of its response. An output may not stand without its
    call.
    """
    if not request.is_history_known or request.is_compacted:
        return
    for place, id, _ in request.outputs:
        made = history.by_call.get(id)
        # An output may name the call's `id` in place of its `call_id`.
        if made and not any(request.item_keys.count(("call", name)) for name in (id, client_call_id(made[-1].item))):
            where = "is not in this request, although its output is"
            yield made[-1].lost(place, where=where)
    if request.is_chained and not history.open_calls:
        return
    calls = {id: item for item in request.other_items if (id := client_call_id(item))}
    if history.open_calls:
        yield from _find_unanswered_calls(request, history, calls)
    for place, original in _find_forgotten_calls(request, history, calls):
        yield original.lost(place, where="is missing from this request, and so is its output")


def _find_unanswered_calls(request: HistoryRequest, history: History, calls: Mapping[str, Json]) -> Iterator[LossFacts]:
    """Find the calls of earlier responses that no request answers, although this request continues those responses."""
    # A client may have sent the call back under an id of its own.
    renamed = {content_of(item) for id, item in calls.items() if id not in history.by_call}
    places = _ContinuedReplies(request, history)
    for original in [original for original in history.open_calls.values() if id(original.reply) in places.replies]:
        ids = (client_call_id(original.item), as_string(original.item.get("id")))  # some clients send the `id` instead
        if (
            (place := places.find(original))
            and calls.keys().isdisjoint(ids)
            and _is_same_agent(request, original, history)
            and content_of(original.item) not in renamed
            and not _is_quoted(original.item, request)
        ):
            yield original.lost(place, where="is neither in this request nor answered in any other")


def _is_quoted(call: Json, request: HistoryRequest) -> bool:
    """Return whether a message quotes a call by name and id, as clients do that ask for better arguments."""
    messages = [message_text(item) for _, item in request.placed_items if item_type(item) == MESSAGE]
    ids = [id for name in ("id", "call_id") if (id := as_string(call.get(name)))]
    return any(as_string(call.get("name")) in text and any(id in text for id in ids) for text in messages)


def _find_forgotten_calls(
    request: HistoryRequest, history: History, calls: Mapping[str, Json]
) -> Iterator[tuple[str, OutputItem]]:
    """Find the answered calls of an earlier request that this one lacks.

    They count if another call of the same response is still there, or if the model is still within the same tool loop.
    """
    if request.is_chained:
        return
    kept = [(place, kept_call) for place, id, _ in request.calls if (kept_call := history.find_call(id))]
    here = calls.keys() | {id for _, id, _ in request.outputs}
    reported: set[str] = set()
    # The last call that was kept shows which tool loop the model is in.
    for place, kept_call in kept[-1:]:
        for id in _calls_of_the_loop(request, kept_call.reply.request, here):
            original = history.find_call(id)
            if original and _is_same_agent(request, original, history):
                reported.add(id)
                yield place, original
    for place, kept_call in kept:
        # The only call of a response has no sibling that could be missing.
        for sibling in kept_call.reply.output if len(kept_call.reply.output) > 1 else ():
            id = client_call_id(sibling)
            if id and id not in here and id not in reported and id in history.call_outputs:
                original = history.find_call(id)
                if original and history.is_same_agent(original.reply.request, request):
                    reported.add(id)
                    yield place, original


def _calls_of_the_loop(request: HistoryRequest, before: HistoryRequest, here: Set[str]) -> Iterator[str]:
    """Yield the answered calls since the last user message of the request `before` that its continuation lacks.

    Yields nothing if the user has spoken since, or if what preceded these calls is missing as well: then the transcript
    may have been shortened on purpose.
    """
    keys = before.item_keys
    start = len(keys) - next((back for back, key in enumerate(reversed(keys)) if key[0] == "user"), len(keys))
    first = next(
        (index for index, (kind, id) in enumerate(keys) if index >= start and kind == "call" and id not in here), None
    )
    # A transcript that differs before the gap was rewritten: a summary may replace the calls.
    if first is None or len(request.digests) <= first or request.digests[first] != before.digests[first]:
        return
    after = request.item_keys[first:]
    kept = sum(kind == "call" for kind, _ in after)
    # Long loops often keep only a window of the last calls; a short one that lost its first call is no such window.
    if all(kind != "user" for kind, _ in after) and (first > start or kept <= MOST_KEPT):
        answered = {id for kind, id in keys[first:] if kind == "output"}
        yield from (id for kind, id in keys[first:] if kind == "call" and id in answered and id not in here)


class _ContinuedReplies:
    """Finds where a request continues earlier replies: after their output, or after the input that led to them."""

    def __init__(self, request: HistoryRequest, history: History) -> None:
        self._repeated: dict[int, list[tuple[str, OutputItem]]] = {}
        for place, item in request.placed_items:
            if original := history.find_original(item):
                self._repeated.setdefault(id(original.reply), []).append((place, original))
        self._replies, length = history.find_continued(request)
        self.replies = self._repeated.keys() | {id(reply) for reply in self._replies}
        self._new = request.items_after(length) if self._replies else ()
        self._again = {reply for _, item in self._new for reply in _replies_that_say(item, history)}

    def find(self, original: OutputItem) -> str:
        """Return the place at which the response with a call is continued; empty if it is not."""
        for place, repeated in self._repeated.get(id(original.reply), ()):
            # Other output of the response is there, so the request continues the response and needs the call.
            if repeated.item is not original.item:
                return place
        others = {id(reply) for reply in self._replies} - {id(original.reply)}
        # With several replies to the same input, the request may continue another of them.
        if len(others) == len(self._replies) or not self._new or others & self._again:
            return ""
        return self._new[0][0]


def _replies_that_say(item: Json, history: History) -> Set[int]:
    if is_assistant(item):
        said = history.find_said(item)
        return said.reply_ids if said else set()
    return {id(original.reply) for original in history.find_originals(item)}


def _is_same_agent(request: HistoryRequest, original: OutputItem, history: History) -> bool:
    """Return whether a request comes from the agent that was to execute a call: by the tool, else by the agent."""
    before = original.reply.request
    if (name := as_string(original.item.get("name"))) in before.tool_names:
        return name in request.tool_names
    return history.is_same_agent(before, request)


@loss(
    message="{what} from exchange {said} and its output are missing from a history that has the answer to them",
    fix="Store calls and their outputs with the answer, or the model does not know what it did, and may do it again.",
    strict=True,
    unless=["call-dropped"],
    loses=asks("P > C | P C O > A | P A N; P > C | P C O > C2 | P C O C2 O2 > A | P A N"),
    keeps=[
        *asks(
            "P > C | P C O > A | P C O A N; P > C | P C O > A | N; P > C | P C O > C2 | P C O C2 O2 > A | P C2 O2 A N"
        ),
        ask("P > C", "P C O > A", "P A N", by=("plan", "plan", "review")),
        ask("P > A", "P A N"),
    ],
)
def call_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A history has an answer, but none of the calls that led to it; many clients keep only what was said."""
    if request.is_chained or request.is_compacted:
        return
    here = {id for _, id, _ in request.calls}
    for place, item in request.assistant_messages:
        if (answer := history.find_original(item)) and history.is_same_agent(answer.reply.request, request):
            made = takewhile(lambda key: key[0] != "user", reversed(answer.reply.request.item_keys))
            ids = [id for kind, id in made if kind == "call"]
            if ids and here.isdisjoint(ids) and (original := history.find_call(ids[-1])):
                yield original.lost(place)


@loss(
    message="{what} from exchange {said} comes back changed: {member} was {was} and is now {now}",
    fix="Send a call back unchanged; changes that the user allowed belong in the output.",
    loses=[
        ask("P > C", ["P", call(arguments='{"ref":"v3"}'), "O"]),
        ask("P > C", ["P", call(name="destroy"), "O"]),
        ask("P > C", ["P", call(arguments="{}"), "O"]),
        ask(["P >", function_call("deploy", '{"to":{}}', call_id="call_1")], ["P", call(arguments='{"to":[]}'), "O"]),
        ask(
            ["P >", _APPROVAL_REQUEST],
            ["P", {**_APPROVAL_BACK, "server_label": "staging"}, _APPROVED],
            tools=[_PROD, {**_PROD, "server_label": "staging"}],
        ),
        _hosted_case(arguments='{"ref":"v3"}'),
        _hosted_case(name="destroy"),
        _hosted_case(arguments=""),
    ],
    keeps=[
        ask(["P >", _APPROVAL_REQUEST], ["P", _APPROVAL_BACK, _APPROVED], tools=[_PROD]),
        _hosted_case(arguments='{ "ref" : "v2" }'),
        ask("P > C", ["P", call(arguments='{ "ref" : "v2" }'), "O"]),
        ask(
            ["P >", function_call("deploy", '{"b":2,"a":1}', call_id="call_1")],
            ["P", call(arguments='{"a": 1, "b": 2}'), "O"],
        ),
        ask(["P >", function_call("deploy", "", call_id="call_1")], ["P", call(arguments="{}"), "O"]),
        ask("P > C", ["N >", function_call("deploy", "{}", call_id="call_1")], ["P", call(arguments="{}"), "O"]),
        ask(["P >", message("ok")], ["P", call("call_9"), output("call_9")]),
    ],
)
def call_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Calls come back with the same `call_id`, but with another name or other arguments.

    Arguments are compared as JSON: white space and the order of members do not matter. A call that the API has executed
    may lack members, but an empty string is another value.
    """
    yield from _find_changed_hosted(request, history)
    for place, id, item in request.calls:
        if originals := history.by_call.get(id):
            member, last = changed_member(originals[-1].item, item), originals[-1].item
            # Scripts reuse a `call_id`: the call may be an earlier one, unchanged.
            if member and all(changed_member(original.item, item) for original in originals[-MOST_NAMESAKES:-1]):
                was, now = (shorten_json(call.get(member)) for call in (last, item))
                yield facts_about(f"{place}.{member}", originals[-1].number, last, member=member, was=was, now=now)


def _find_changed_hosted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the calls of the API that come back with other members; members that are left out do not count."""
    for place, item, original in find_hosted(request, history):
        for name in HOSTED_MEMBERS:
            was, now = (_normalize(call.get(name)) for call in (original.item, item))
            if isinstance(was, dict) and isinstance(now, dict) and item[name] != "":
                shared = was.keys() & now.keys()
                was, now = ({key: call[key] for key in shared} for call in (was, now))
            if was and was != now and (now or item.get(name) == ""):
                changed = {"member": name, "was": shorten_json(was), "now": shorten_json(now or "")}
                yield original.lost(f"{place}.{name}", **changed)
                break


def find_hosted(request: HistoryRequest, history: History) -> Iterator[tuple[str, Json, OutputItem]]:
    """Find the items of a request in which the API has executed something itself, each with the original."""
    for place, item in request.placed_items:
        if is_hosted(item) and (original := history.find_original(item)):
            yield place, item, original


def changed_member(original: Json, sent: Json) -> str:
    """Return the name of the first member in which two calls differ; empty if they agree."""
    for name in ("type", *CONTENT_MEMBERS):
        was, now = original.get(name), sent.get(name)
        if was is not None and was != now and not _agree(_parse(was), _parse(now)):
            return name
    return ""


def content_of(call: Json) -> str:
    """Return what a call executes as canonical JSON."""
    content = {name: _normalize(call[name]) for name in ("type", *CONTENT_MEMBERS) if call.get(name) is not None}
    return json.dumps(content, sort_keys=True)


def _agree(one: Any, other: Any) -> bool:
    """Return whether two parsed values are equal; a member that one lacks may be empty, but of one type in both."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_agree(one.get(name), other.get(name)) for name in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_agree, one, other))
    return one == other or (None in (one, other) and _drop_empty(other if one is None else one) in (None, [], {}))


def _parse(value: Any) -> Any:
    """Parse the JSON strings in a value; no arguments count as empty ones."""
    if isinstance(value, str):
        try:
            # Not orjson, which rounds what exceeds 64 bits.
            read = json.loads(value or "{}")
        except (ValueError, RecursionError):
            return value
        # Strings such as `12` or `true` are JSON, too, but are compared as strings.
        return _parse(read) if isinstance(read, dict | list) else value
    if isinstance(value, dict):
        return {name: _parse(member) for name, member in value.items()}
    return [_parse(element) for element in value] if isinstance(value, list) else value


def _normalize(value: Any) -> Any:
    """Normalize a value for comparison: parse JSON strings, drop empty members."""
    return _drop_empty(_parse(value))


def _drop_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain for name, member in value.items() if (plain := _drop_empty(member)) not in (None, [], {})}
    return [_drop_empty(element) for element in value] if isinstance(value, list) else value
