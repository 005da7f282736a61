"""Instructions, tools and other settings, which the API does not carry over: each request must name its own."""

from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, message_text
from harness.analysis.history.repetitions import RECENT_REQUESTS
from harness.analysis.history.request import HistoryRequest, OutputItem, tool_name
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import TOOLS, LossFacts, ask, body, chained, loss
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string, objects_in

OTHER_INSTRUCTIONS = ("prompt", "agent", "agent_reference")
"""Members of a request that refer to instructions stored by the API."""
_SETTINGS = (
    *("temperature", "top_p", "top_logprobs", "max_output_tokens", "max_tool_calls", "parallel_tool_calls"),
    *("reasoning", "truncation", "service_tier"),
    *("metadata", "prompt_cache_key", "safety_identifier", "user"),
)
"""Members that none of 694 recorded requests that answer a call left out.

`include` only says what is returned; who resumes a run elsewhere may store what was not stored before.
"""
_AGENT: Json = {"instructions": "You run operations.", "tools": TOOLS}
_ALLOWED: Json = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "deploy"}]}
_SYSTEM: Json = {"role": "system", "content": "You run operations."}
_AS_JSON: Json = {"format": {"type": "json_schema", "name": "release", "schema": {"type": "object"}}}
_GONE = "the instructions of exchange {said}, which returned {what}, are missing: the model continues without any"
_FIX = "Send `instructions` with each request: `previous_response_id` and `conversation` do not carry them over."


def _then(later: Json, *first: Json, **members: object) -> Case:
    """Build an example in which a call is answered; `first` are items before the prompt."""
    return ask(body(*first, "P", **members or _AGENT), later, turns=["C"])


@loss(
    message=_GONE,
    fix=_FIX,
    loses=[
        _then(body("P C O", tools=TOOLS)),
        _then({**chained("O"), "tools": TOOLS}),
        _then(body("P C O", tools=TOOLS, instructions=" ")),
        _then(body("P C O", tools=TOOLS), _SYSTEM, tools=TOOLS),
    ],
    keeps=[
        _then(body("P C O", **_AGENT)),
        _then(body("P C O", tools=TOOLS, instructions="You run the operations.")),
        _then(body({**_SYSTEM, "role": "developer"}, "P C O", tools=TOOLS)),
        _then(body("P C O", tools=TOOLS), tools=TOOLS),
        _then({**chained("O"), "tools": TOOLS}, _SYSTEM, tools=TOOLS),
        _then(body("P C O", tools=TOOLS[:1])),
    ],
)
def instructions_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests answer a call with the same tools, but without the instructions of the request that led to the call.

    Different instructions, or none with different tools, may belong to another agent.
    """
    for place, original in _find_answered_call(request, history):
        before = original.reply.request
        if before.tool_names and before.tool_names == request.tool_names and _has_lost_instructions(before, request):
            yield original.lost(place)


@loss(
    message=_GONE,
    fix=_FIX,
    strict=True,
    loses=[ask("P > A", chained("N"), by=["plan"]), ask("P > A", "P A N", by=["plan"])],
    keeps=[
        ask("P > A", "P A N", instructions="You plan."),
        ask("P > A", "P A N"),
        _then(body("P C O", tools=TOOLS[:1])),
    ],
)
def instructions_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Users continue with the same tools, but without instructions, which may have been meant for one answer."""
    if not request.placed_items or any(_find_answered_call(request, history)):
        return
    original = _find_continued(request, history)
    before = original.reply.request if original else request
    if original and before.tool_names == request.tool_names and _has_lost_instructions(before, request):
        yield original.lost(request.placed_items[-1][0])


@loss(
    message="the tools of exchange {said}, which returned {what}, are missing: the model can call none",
    fix="Send `tools` with each request, unless the model should not call any.",
    strict=True,
    loses=[_then(body("P C O", instructions="You run operations."))],
    keeps=[
        _then(body("P C O", **_AGENT)),
        _then(body("P C O", **{**_AGENT, "tools": TOOLS[:1]})),
        _then(body("P C O", instructions="You write the invoice.")),
    ],
)
def tools_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests answer a call, but offer no tools; a client may want to force a text as the final answer.

    With other instructions it is another agent, to which the call handed over.
    """
    now = request.masked_instructions.strip()
    for place, original in _find_answered_call(request, history):
        before = original.reply.request
        if before.tool_names and not request.tool_names and now in ("", before.masked_instructions.strip()):
            yield original.lost(place)


@loss(
    message="the `text.format` of exchange {said}, which returned {what}, is missing: the answer may be any text",
    fix="Send `text.format` with each request: `previous_response_id` and `conversation` do not carry it over.",
    loses=[
        _then(body("P C O", **_AGENT), **_AGENT, text=_AS_JSON),
        _then({**chained("O"), **_AGENT, "text": {"verbosity": "low"}}, **_AGENT, text=_AS_JSON),
    ],
    keeps=[
        _then(body("P C O", **_AGENT, text=_AS_JSON), **_AGENT, text=_AS_JSON),
        _then(body("P C O", **_AGENT, text=_AS_JSON)),
        _then(body("P C O", **{**_AGENT, "tools": TOOLS[:1]}), **_AGENT, text=_AS_JSON),
        _then(body("P C O N", **_AGENT), **_AGENT, text=_AS_JSON),
    ],
)
def format_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests answer a call with the same instructions and tools, but without the JSON format that was asked for."""
    for place, original in _find_answered_call(request, history):
        before = original.reply.request
        if before.agent == request.agent and before.asks_for_json and not request.asks_for_json:
            yield original.lost(place)


@loss(
    message="{names} of exchange {said}, which returned {what}, {verb} missing: the model continues without",
    fix="Send the same settings with each request of a loop: `previous_response_id` and `conversation` carry none over.",
    loses=[
        _then(body("P C O", **_AGENT), **_AGENT, temperature=0.2, metadata={"run": "7"}),
        _then({**chained("O"), **_AGENT}, **_AGENT, max_output_tokens=500),
        _then(body("P C O", **_AGENT), **_AGENT, parallel_tool_calls=False),
        _then(body("P C O", **_AGENT), **_AGENT, tool_choice=_ALLOWED, text={"verbosity": "medium"}),
    ],
    keeps=[
        _then(body("P C O", **_AGENT, temperature=1), **_AGENT, temperature=0.2),
        _then(body("P C O", **_AGENT, temperature=0.2), **_AGENT),
        _then(body("P C O", **{**_AGENT, "tools": TOOLS[:1]}), **_AGENT, temperature=0.2),
        _then(body("P C O", **_AGENT, model="gpt-4.1-mini"), **_AGENT, temperature=0.2),
        _then(body("P C O N", **_AGENT), **_AGENT, temperature=0.2),
        _then(body("P C O", **_AGENT), **_AGENT, store=False),
        _then(body("P C O", **_AGENT), **_AGENT, tool_choice="required"),
        _then(body("P C O", **_AGENT, tool_choice="none"), **_AGENT, tool_choice=_ALLOWED),
    ],
)
def settings_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests answer a call with the same instructions and tools, but without settings of the request that led to it.

    Other values may be meant; so may none for another model.
    """
    for place, original in _find_answered_call(request, history):
        before = original.reply.request
        if before.agent == request.agent and before.body.get("model") == request.body.get("model"):
            was, now = _settings_of(before.body), _settings_of(request.body)
            gone = [name for name, value in was.items() if value is not None and now[name] is None]
            # A call is forced once, but which tools are allowed holds for a whole loop.
            if as_object(was["tool_choice"]).get("mode") != "auto":
                gone = [name for name in gone if name != "tool_choice"]
            if gone:
                names, verb = ", ".join(f"`{name}`" for name in gone), "is" if len(gone) == 1 else "are"
                yield original.lost(place, names=names, verb=verb)


def _settings_of(body: Json) -> Json:
    names = (*_SETTINGS, "tool_choice")
    return {**{name: body.get(name) for name in names}, "text.verbosity": as_object(body.get("text")).get("verbosity")}


_SEARCH: Json = {"type": "web_search"}


@loss(
    message="the {tool} tool is offered {count} times, but once in exchange {said}: the list of tools grows",
    fix="Build `tools` anew for each request, or copy the list before adding to it.",
    loses=[
        ask(body("P", tools=[_SEARCH]), body("P A N", tools=[_SEARCH, _SEARCH]), turns=["A"]),
        ask(body("P", tools=[_SEARCH]), body("N", tools=[_SEARCH, _SEARCH, *TOOLS]), turns=["A"]),
    ],
    keeps=[
        ask(body("P", tools=[_SEARCH]), body("P A N", tools=[_SEARCH, *TOOLS]), turns=["A"]),
        ask(body("P", tools=[_SEARCH, _SEARCH]), body("P A N", tools=[_SEARCH, _SEARCH]), turns=["A"]),
        ask(
            body("P", tools=[_SEARCH]),
            body("P A N", tools=[_SEARCH, {**_SEARCH, "search_context_size": "low"}]),
            turns=["A"],
        ),
    ],
)
def tools_doubled(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests offer a tool several times that an earlier request offered once."""
    tools = objects_in(request.body.get("tools"))
    for index, tool in enumerate(tools):
        count = tools.count(tool)
        if count > 1 and tools.index(tool) == index:
            for reply in history.replies[-RECENT_REQUESTS:]:
                if objects_in(reply.request.body.get("tools")).count(tool) == 1:
                    yield {"at": f"tools[{index}]", "said": reply.number, "tool": tool_name(tool), "count": str(count)}
                    break


def _find_answered_call(request: HistoryRequest, history: History) -> Iterator[tuple[str, OutputItem]]:
    """Find the last call that a request answers, with the place of its output, unless a user message follows."""
    for place, item in reversed(request.turn):
        if (id := answered_id(item)) and (original := history.find_call(id)):
            yield place, original
            return


def _find_continued(request: HistoryRequest, history: History) -> OutputItem | None:
    """Find an output item of the response that a request continues."""
    if request.is_chained:
        ids = (as_string(item.get("id")) for item in reversed(request.previous.items))
        return next((original for id in ids if (original := history.by_id.get(id))), None)
    said = {id(item): reply for reply in history.find_continued(request)[0] for item in reply.output}
    sent = (original for _, item in request.placed_items for original in history.find_originals(item)[-1:])
    return next((original for original in sent if id(original.item) in said), None)


def _has_lost_instructions(before: HistoryRequest, request: HistoryRequest) -> bool:
    if not before.masked_instructions.strip() or any(request.body.get(name) for name in OTHER_INSTRUCTIONS):
        return False
    # A system or developer message instructs the model just as well.
    is_told = any(item.get("role") in INSTRUCTION_ROLES and message_text(item) for item in request.transcript.items)
    return not is_told and not as_string(request.body.get("instructions")).strip()
