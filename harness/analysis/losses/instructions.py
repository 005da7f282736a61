"""Instructions, tools and the format of text, which the API does not carry over: each request must name its own."""

from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, message_text
from harness.analysis.history.request import HistoryRequest, OutputItem
from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.analysis.loss import TOOLS, LossFacts, ask, body, chained, loss
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string

OTHER_INSTRUCTIONS = ("prompt", "agent", "agent_reference")
"""Members of a request that refer to instructions stored by the API."""
_AGENT: Json = {"instructions": "You run operations.", "tools": TOOLS}
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
