"""Outputs of calls: exactly one for each call, which never changes."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, describe_item
from harness.analysis.history.request import HistoryRequest, facts_about
from harness.analysis.history.text_damage import PRINTED_NOTHING, PRINTED_OBJECT, describe_encoding, is_doubled
from harness.analysis.history.text_index import parse_literal
from harness.analysis.history.tool_results import output_text
from harness.analysis.loss import LossFacts, ask, body, chained, loss, output
from harness.analysis.losses.calls import find_hosted
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string, objects_in
from harness.core.text import quote
from harness.items import code_interpreter_call, mcp_approval_request, mcp_call, shell_call

_PART_CONTENT = {
    "input_text": ("text",),
    "input_image": ("image_url", "file_id"),
    "input_file": ("file_data", "file_id", "file_url"),
    "text": ("text",),
    "image": ("mimeType",),
}
"""The types of parts that an output may have, and those of MCP, each with the members of a complete one."""
_TEXT_PARTS = ("input_text", "text")
RESULTS = ("output", "outputs", "result", "results", "container_id")
"""The members of an item in which the API returns what it has executed, and where."""
_TEXTS = ("text", "stdout", "stderr", "logs")
"""The members of the parts of a result that hold text."""
_PRINTED_LIST = re.compile(r"""\[\{\s*['"]""")
_OUTPUT_PARTS = [{"type": "input_text", "text": "v2 is live"}]
_SHELL: Json = {"model": "gpt-5.6-sol", "tools": [{"type": "shell"}]}
_PICTURE: Json = {"type": "input_image", "image_url": "https://example.org/v2.png"}
_PROD = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}
_SERVER = {**_PROD, "require_approval": "never"}
_APPROVAL_RESPONSE: Json = {"type": "mcp_approval_response", "approval_request_id": "{0.output.0.id}", "approve": True}


def _changed_output_case(output_value: Any, first: Any = "v2 is live") -> Case:
    """Build an example in which a later request sends another output for a call."""
    return ask("P > C", ["P C", output(value=first), "> A"], ["P C", output(value=output_value), "A N"])


def _changed_shell_case(*printed: Json) -> Case:
    """Build an example in which a later request sends another output of a command, which had printed two texts."""
    first = {"stdout": "v2 is live", "stderr": "no warnings", "outcome": {"type": "exit", "exit_code": 0}}
    calls = ["P", {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ship v2"]}}]
    before, now = (
        {"type": "shell_call_output", "call_id": "call_1", "output": parts}
        for parts in ([first], [{**first, **changed} for changed in printed])
    )
    made = shell_call("ship v2", call_id="call_1")
    return ask(["P >", made], [*calls, before, "> A"], [*calls, now, "A N"], **_SHELL)


def _changed_approval_case(approve: bool) -> Case:
    """Build an example in which a later request says whether a call was approved, which it was."""
    asked = {"type": "mcp_approval_request", "id": "{0.output.0.id}", "server_label": "prod"}
    calls = ["P", {**asked, "name": "deploy", "arguments": '{"ref":"v2"}'}]
    then = [*calls, {**_APPROVAL_RESPONSE, "approve": approve}, "A N"]
    made = mcp_approval_request("prod", "deploy", {"ref": "v2"})
    tools = [{**_PROD, "require_approval": "always"}]
    return ask(["P >", made], [*calls, _APPROVAL_RESPONSE, "> A"], then, tools=tools)


def _two_outputs_case(first: str, second: str) -> Case:
    then = ["P C C2", output(value=first), output("call_2", second), "A N"]
    return ask("P > C C2", ["P C C2 O", output("call_2", "ops were told"), "> A"], then)


def _mcp_case(**changed: Any) -> Case:
    members = {"server_label": "prod", "name": "deploy", "arguments": "{}", "output": "v2 is live"}
    back = {"type": "mcp_call", "id": "{0.output.0.id}", **members, **changed}
    return ask(["P >", mcp_call(**members), "A"], ["P", back, "A N"], tools=[_SERVER])


def _code_case(**changed: Any) -> Case:
    members: Json = {"code": "6 * 7", "container_id": "cntr_1", "outputs": [{"type": "logs", "logs": "42"}]}
    back = {"type": "code_interpreter_call", "id": "{0.output.0.id}", "status": "completed", **members, **changed}
    made = code_interpreter_call("6 * 7", container_id="cntr_1", outputs=members["outputs"])
    tools = [{"type": "code_interpreter", "container": {"type": "auto"}}]
    return ask(["P >", made, "A"], ["P", back, "A N"], tools=tools, include=["code_interpreter_call.outputs"])


@loss(
    message="{what}, {verb} in exchange {said} as {was}, {how}: {now}",
    fix="Send each output again exactly as it was first sent, as the same text or parts.",
    loses=[
        *map(_changed_output_case, ("", "None", "v2 is livev2 is live", json.dumps("v2 is live"))),
        *(_changed_output_case(printed, _OUTPUT_PARTS) for printed in (str(_OUTPUT_PARTS), json.dumps(_OUTPUT_PARTS))),
        *(
            _changed_output_case(parts, [*_OUTPUT_PARTS, _PICTURE])
            for parts in (
                [{"type": "input_text", "text": ""}, _PICTURE],
                [],
                [*_OUTPUT_PARTS, *_OUTPUT_PARTS, _PICTURE],
            )
        ),
        _two_outputs_case("ops were told", "v2 is live"),
        *map(_changed_shell_case, ({"stdout": ""}, {"stderr": "no warnings\nno warnings"})),
        _changed_shell_case(),
        _changed_approval_case(False),
        *(_mcp_case(output=text) for text in ("", "v2 is livev2 is live")),
        _code_case(outputs=[{"type": "logs", "logs": "4242"}]),
    ],
    keeps=[
        *(_changed_output_case(value, [*_OUTPUT_PARTS, _PICTURE]) for value in ("[left out]", _OUTPUT_PARTS)),
        *map(_changed_shell_case, ({}, {"stdout": "[left out]"})),
        _changed_approval_case(True),
        _code_case(outputs=[]),
        _two_outputs_case("v2 is live", "ops were told"),
        _two_outputs_case("[left out]", "[left out]"),
        *map(_changed_output_case, ("v2 is live", _OUTPUT_PARTS, "[output left out]", "v2 is live since noon")),
        _changed_output_case('{"output": "v2 is live"}'),
        _changed_output_case("v2 is live", ""),
        _mcp_case(output=None),
        ask("P > C", ["P C O", output("call_9")], ["P C", output(value="")]),
        ask("P > C", "P C O > A", "P > C", ["P C", output(value="")]),
    ],
)
def output_altered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Outputs, or one text in them, are now empty, doubled, printed, encoded differently, or another call's.

    So are the results of the API, unless they are left out. An approval is now a refusal, or a refusal an approval. Any
    other text is accepted: clients may shorten old outputs and replace late ones.
    """
    yield from (facts for facts in _find_changed_outputs(request, history) if facts["how"])


@loss(
    message="{what}, {verb} in exchange {said} as {was}, is now a different text: {now}",
    fix="Send each output again as it was first sent, unless it is shortened on purpose.",
    strict=True,
    unless=["output-altered"],
    loses=[
        *map(_changed_output_case, ("[output left out]", "v2 is live since noon")),
        *(_mcp_case(output=None), _code_case(outputs=None), _code_case(container_id="cntr_2")),
    ],
    keeps=[_changed_output_case("v2 is live"), _changed_output_case(_OUTPUT_PARTS), _mcp_case(), _code_case()],
)
def output_replaced(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Outputs of calls are another text than before; long conversations commonly use placeholders.

    This includes what a call contains that the API has executed, which clients that send the call's id omit.
    """
    yield from _find_changed_outputs(request, history)


def _find_changed_outputs(request: HistoryRequest, history: History) -> Iterator[Json]:
    for place, id, item in request.outputs:
        sent = history.call_outputs.get(id, {})
        # If several calls share an id, it is unclear which output belongs to which.
        if sent and len(history.by_call.get(id, ())) == 1:
            number, original = next(reversed(sent.values()))
            if changed := _describe_answer(original, item, sent):
                if not changed["how"] and (other := _find_owner(output_text(item), request, history)):
                    changed["how"] = f"is now that of {other}"
                yield {"at": f"{place}.{changed['member']}", "said": number, "verb": "sent", **changed}
    for place, item, returned in find_hosted(request, history):
        for member in RESULTS:
            was, now = returned.item.get(member), item.get(member)
            if was and now != was:
                changed = _describe_change(item, member, was, now)
                # A client may leave out what the API has returned, since the API has it.
                how = changed["how"] if now or (member, now) == ("output", "") else ""
                yield {"at": f"{place}.{member}", "said": returned.number, "verb": "returned", **changed, "how": how}


def _describe_answer(original: Json, item: Json, sent: Mapping[str, object]) -> Json:
    """Describe how the output of a call differs from its last one; empty if it was sent before."""
    for name in ("approve", "status"):
        was, now = original.get(name), item.get(name)
        if was != now and (name == "approve" or {was, now} == {"failed", "completed"}):
            return {**_describe_change(item, name, was, now), "how": "is now the opposite"}
    if output_text(item) in sent:
        return {}
    return _describe_change(item, "output", original.get("output"), item.get("output"))


def _find_owner(text: str, request: HistoryRequest, history: History) -> str:
    """Return the id of the other call in this request that an output belongs to; empty without one."""
    for _, id, item in request.outputs:
        sent = history.call_outputs.get(id, {})
        if text in sent and output_text(item) not in sent:
            return id
    return ""


def _describe_change(item: Json, member: str, was: Any, now: Any) -> Json:
    """Describe how a result differs from the earlier one, as a whole or in a damaged text."""
    whole, texts, sent = (output_text({"output": was}), output_text({"output": now})), _texts(was), _texts(now)
    parts = zip(texts, sent, strict=True) if len(texts) == len(sent) else [("".join(texts), "".join(sent))]
    damaged = next((pair for pair in (whole, *parts) if _describe_damage(*pair)), whole)
    change = {"was": quote(damaged[0]), "now": quote(damaged[1]), "how": _describe_damage(*damaged)}
    return {"member": member, "what": describe_item(item), **change}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [as_string(part[name]) for part in objects_in(value) for name in _TEXTS if name in part]


def _describe_damage(was: str, now: str) -> str:
    if not was.strip() or was in PRINTED_NOTHING:
        return ""
    if not now.strip() or now in PRINTED_NOTHING:
        return "is now empty"
    if is_doubled(was, now):
        return "is now doubled"
    if how := describe_encoding(was, now):
        return f"is now {how}"
    # A tool may return a printed list itself: it counts only if the earlier output was not one.
    printed = _PRINTED_LIST.match(now) and was[:20] in now and not _PRINTED_LIST.match(was)
    return "is now a printed list" if printed else ""


@loss(
    message="{what} answers a call from exchange {said} {again}",
    fix="Execute and answer each call only once, in the request that follows it.",
    loses=[
        ask("P > C", chained("O"), chained("O", to=1)),
        ask("P > C", ["P C O", output(value="v2 is up")]),
        ask(
            ["P >", mcp_approval_request("prod", "deploy", {"ref": "v2"})],
            chained(_APPROVAL_RESPONSE),
            chained(_APPROVAL_RESPONSE, to=1),
        ),
    ],
    keeps=[
        ask("P > C", chained("O"), chained("O")),
        ask("P > C", *[body("P C O")] * 2),
        ask("P > C", "P C O > C", "P C O C O"),
    ],
)
def output_twice(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Calls or approval requests are answered twice in one transcript, or run more often by a tool that is `counted`."""
    answers: Counter[str] = Counter()
    for place, id, item in request.outputs:
        if id in history.by_call:
            answers[id] += 1
            count = answers[id] + request.previous.keys.count(("output", id))
            original = history.by_call[id][-1]
            # An asynchronous call is answered at once with a note, and later with its result.
            if count > max(1, request.item_keys.count(("call", id))) and not original.item.get("async"):
                yield facts_about(place, original.number, item, again="a second time")
            elif runs := history.tool_results.repeated.get(id):
                yield facts_about(place, original.number, item, again=f"that its tool has run {runs} times")


_PRINTED_CONTENT = re.compile(
    r"\[<[\w.]+ object at 0x|(?:CallToolResult\(|meta=\S+ )?(?:content=)?\[\w+Content\(type='(?:text|image|audio)'"
)
"""Matches the beginning of what Python prints for a list of content, such as the result of an MCP tool."""


@loss(
    message="{what} from exchange {said} was answered with a printed object: {now}",
    fix="Await what the tool returns, and serialize it once, as text or JSON; send images and files as a list of parts.",
    loses=[
        ask("P > C", ["P C", output(value=text)])
        for text in (
            "[object Promise]",
            "<coroutine object deploy at 0x7f3c2a1b>",
            "<coroutine object Shop.deploy.<locals>.retry at 0x7f3c2a1b>",
            "<function tools.<locals>.<lambda> at 0x7f3c2a1b>",
            "<shop.orders.Order object at 0x7f3c2a1b>",
            "<bound method Shop.deploy of a shop at 0x7f3c2a1b>",
            "[<agents.TextContent object at 0x7f8e7c1c>, <agents.TextContent object at 0x7f8e7c2d>]",
            "meta=None content=[TextContent(type='text', text='done', annotations=None)] isError=False",
            str(output()),
            json.dumps([*_OUTPUT_PARTS, _PICTURE]),
            str([_PICTURE]),
            json.dumps({"content": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}),
            json.dumps(json.dumps({"state": "live"})),
            json.dumps(json.dumps("v2 is live")),
        )
    ],
    keeps=[
        ask("P > C", ["P C", output(value=text)])
        for text in (
            *("None", "undefined", "", "an <order object at 0x7f>", "It printed [object Object].", "[TextContent(s)]"),
            *(
                json.dumps(_OUTPUT_PARTS),
                '[{"type": "input_image"}]',
                "[[]]",
                "[{",
                '{"content": [], "isError": false}',
            ),
            *('[{"type": "image", "data": "a cat"}]', '"v2 is live"', '"18"', '"[left out]"', '"v2" is live'),
            json.dumps({"state": json.dumps({"v2": "live"})}),
        )
    ],
)
def output_printed(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Outputs of calls are the printed form of a promise, a coroutine, an object or an image, or JSON of JSON."""
    for place, id, item in request.outputs:
        text = output_text(item).strip() if id in history.by_call else ""
        printed = PRINTED_OBJECT.fullmatch(text) or _PRINTED_CONTENT.match(text) or _is_encoded_twice(text)
        if printed or _is_printed_parts(item.get("output")) or _is_printed_item(text, id):
            original = history.by_call[id][-1]
            yield original.lost(f"{place}.output", now=quote(text))


def _is_encoded_twice(text: str) -> bool:
    """Return whether a text is a JSON string of the JSON of an object, an array or a string."""
    try:
        value = json.loads(text) if text[:1] == '"' else None
        return isinstance(value, str) and isinstance(json.loads(value), dict | list | str)
    except (ValueError, RecursionError):
        return False


def _is_printed_parts(text: Any) -> bool:
    """Return whether an output is the JSON or the `repr` of content parts with an image or a file, read as a text."""
    value = parse_literal(text.strip()) if isinstance(text, str) and text.lstrip()[:1] in ("[", "{") else None
    parts = value.get("content") if isinstance(value, dict) else value
    kinds = [_part_kind(part) for part in parts] if isinstance(parts, list) else []
    return all(kinds) and any(kind not in _TEXT_PARTS for kind in kinds)


def _is_printed_item(text: str, id: str) -> bool:
    """Return whether an output is the JSON or the `repr` of an item that answers its call."""
    value = parse_literal(text) if text[:1] == "{" and id in text else None
    return isinstance(value, dict) and answered_id(value) == id


def _part_kind(part: Any) -> str:
    """Return the type of a complete content part of an output; empty for anything else."""
    kind = as_string(part.get("type")) if isinstance(part, dict) else ""
    return kind if any(as_string(part.get(name)) for name in _PART_CONTENT.get(kind, ())) else ""
