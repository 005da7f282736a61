"""Checks of what a correct client shows and does; members that its outcome cannot express are not checked."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from harness.analysis.history.history import History
from harness.analysis.lanes import asks_model
from harness.core.exchange import Exchange, Json
from harness.core.text import pluralize, quote
from harness.examine.case import Check, ObservedRun, ToolCall, check, check_of_failure
from harness.items.transcript import input_items

RAN = "tools ran: "
"""What a reason about the tools that really ran begins with."""
_REASONS = {"max_output_tokens", "content_filter"}
"""The API's reasons for cutting an answer; clients may name them differently."""


@check
def shows(seen: ObservedRun, *texts: str) -> Iterator[str]:
    """Check the final answers, one per prompt, ignoring white space at the ends."""
    wanted, shown = list(texts), [text.strip() for text in seen.outcome.texts]
    if shown != [text.strip() for text in wanted]:
        yield f"the user sees {_quote_all(shown)}, the model said {_quote_all(wanted)}"


@check
def contains(seen: ObservedRun, *parts: str) -> Iterator[str]:
    """Check that the last final answer contains each part, in this order."""
    rest = seen.outcome.text
    for part in parts:
        _, found, rest = rest.partition(part)
        if not found:
            yield f"the user sees {quote(seen.outcome.text)}, without {quote(part)}, which the model wrote"
            return


@check
def streamed(seen: ObservedRun, *texts: str) -> Iterator[str]:
    """Check the streamed text for each prompt; passes without a stream."""
    if seen.task.stream and seen.outcome.streamed is not None and list(seen.outcome.streamed) != list(texts):
        yield f"the stream shows {_quote_all(list(seen.outcome.streamed))}, the model said {_quote_all(list(texts))}"


@check
def runs(seen: ObservedRun, *calls: tuple[str, Any], ordered: bool = False) -> Iterator[str]:
    """Check the tools that really ran, with their arguments, and how often."""
    wanted = [ToolCall(name, arguments) for name, arguments in calls]
    ran, key = list(seen.executions), repr
    same = ran == wanted if ordered else Counter(map(key, ran)) == Counter(map(key, wanted))
    if not same:
        yield f"{RAN}{_list_calls(ran)}; the model called {_list_calls(wanted)}"


@check
def runs_at_most(seen: ObservedRun, count: int) -> Iterator[str]:
    """Check that at most `count` tools were executed."""
    if len(seen.executions) > count:
        yield f"{RAN}{_list_calls(list(seen.executions))}; at most {count} were expected"


@check
def outputs(seen: ObservedRun, *parts: str) -> Iterator[str]:
    """Check the outputs that the model got for its calls, in order: each contains its part."""
    got = [read_output(value) for call in seen.mock.calls for _, value in call.outputs]
    if len(got) != len(parts) or not all(part in output for part, output in zip(parts, got, strict=True)):
        yield f"the model got {_quote_all(got)} for its calls; expected {_quote_all(list(parts))}"


def read_output(value: Any) -> str:
    """Return the text of an output, followed, if it is JSON, by the same without escapes."""
    text = value if isinstance(value, str) else "".join(str(part.get("text", "")) for part in value)
    try:
        return f"{text} {json.dumps(json.loads(text), ensure_ascii=False)}"
    except ValueError:
        return text


@check
def answers_calls(seen: ObservedRun, count: int) -> Iterator[str]:
    """Check that `count` calls have an output, or that the task ended in an error."""
    answered = sum(bool(call.outputs) for call in seen.mock.calls)
    if seen.outcome.error is None and answered != count:
        yield f"{answered} calls have an output, {count} should; the user sees no error"


@check
def requests(seen: ObservedRun, least: int, most: int | None = None) -> Iterator[str]:
    """Check that the client sent `least` requests to the model, or from `least` to `most`."""
    sent = sum(asks_model(exchange.request) for exchange in seen.exchanges)
    if not least <= sent <= (least if most is None else most):
        yield f"the client sent {sent} requests, {least}{f' to {most}' if most not in (None, least) else ''} are due"


@check_of_failure
def fails(seen: ObservedRun, *parts: str, status: int | None = None) -> Iterator[str]:
    """Check that the task ended in an error with all `parts` in its message and this HTTP status."""
    error = seen.outcome.error
    if error is None:
        yield f"the client reports success ({quote(seen.outcome.text)}), but the API had failed"
        return
    message = str(error.get("message"))
    yield from (f"the error says {quote(message)}, not {quote(part)}" for part in parts if part not in message)
    if status is not None and error.get("status") not in (None, status):
        yield f"the error has status {error.get('status')}, the API answered {status}"


@check
def cites(seen: ObservedRun, *annotations: dict[str, Any]) -> Iterator[str]:
    """Check the annotations of the last answer, in order, comparing only the members given here."""
    shown = seen.outcome.annotations
    if shown is None:
        return
    same = len(shown) == len(annotations) and all(
        {name: got.get(name) for name in wanted} == wanted for got, wanted in zip(shown, annotations, strict=True)
    )
    if not same:
        yield f"the user gets the citations {list(shown)}, the model gave {list(annotations)}"


@check
def interrupts(seen: ObservedRun, *tools: str) -> Iterator[str]:
    """Check the tools that the user was asked about, in any order."""
    shown = seen.outcome.interruptions
    if shown is not None and sorted(shown) != sorted(tools):
        yield f"the user was asked about {list(shown)}; expected {list(tools)}"


@check
def offers(seen: ObservedRun, link: str) -> Iterator[str]:
    """Check that the user gets this link, in a question of the client, an answer or an error."""
    outcome = seen.outcome
    shown = (*(outcome.interruptions or ()), *outcome.texts, str((outcome.error or {}).get("message")))
    if not any(link in text for text in shown):
        yield f"the user does not get the link {quote(link)}, but sees {quote(outcome.text)}"


@check
def declines(seen: ObservedRun, text: str) -> Iterator[str]:
    """Check that the user sees this refusal, as a refusal, a text or an error."""
    shown = (seen.outcome.refusal or "", seen.outcome.text, str((seen.outcome.error or {}).get("message")))
    if not any(text in answer for answer in shown):
        yield f"the user does not see the refusal {quote(text)}, but {quote(seen.outcome.text)}"


def shows_or_fails(*texts: str) -> Check:
    """Check the final answers, unless the task ended in an error."""
    return unless_failed(shows(*texts))


@check_of_failure
def unless_failed(seen: ObservedRun, *checks: Check) -> Iterator[str]:
    """Apply these checks only if the task did not end in an error."""
    if seen.outcome.error is None:
        yield from chain.from_iterable(check(seen) for check in checks)


@check_of_failure
def tells_cut(seen: ObservedRun, *reasons: str) -> Iterator[str]:
    """Check that the client reports why each text was cut, empty for a complete one; passes if the task failed."""
    reported = list(seen.outcome.incomplete or ())
    for number, reason in enumerate(reasons if seen.outcome.error is None else ()):
        text = quote(seen.outcome.texts[number]) if number < len(seen.outcome.texts) else "nothing"
        said = reported[number] if number < len(reported) else ""
        if reason and not said:
            yield f"the user takes {text} for the whole answer, the API cut it: {reason}"
        # A client may use its own words, but must not report another reason of the API.
        elif said and (not reason or said in _REASONS - {reason}):
            yield f"the user is told that {text} was cut: {said}, the API said {reason or 'that it is complete'}"


@check
def reasons(seen: ObservedRun, *summaries: str) -> Iterator[str]:
    """Check the summaries of the model's reasoning, in this order."""
    every = list(seen.outcome.reasoning or ())
    shown = "\n".join(every)
    for summary in summaries:
        _, found, shown = shown.partition(summary)
        if not found:
            yield f"the user sees the reasoning {_quote_all(every)}, without {quote(summary)}"
            return


@check
def hides(seen: ObservedRun, text: str) -> Iterator[str]:
    """Check that no final answer contains this text."""
    if any(text in answer for answer in seen.outcome.texts):
        yield f"the user sees {_quote_all(list(seen.outcome.texts))}, with {quote(text)}"


@check
def mcp_runs(seen: ObservedRun, *tools: str) -> Iterator[str]:
    """Check the MCP tools that ran after an approval, each once, in any order."""
    ran = sorted(approval.name for approval in seen.mock.approvals for _ in range(approval.executed))
    if ran != sorted(tools):
        yield f"the server ran {ran} after approvals; expected {sorted(tools)}"


@check
def uses_tokens(seen: ObservedRun) -> Iterator[str]:
    """Check that the usage which the client reports is the sum of what the API counted."""
    wanted, shown = seen.mock.replies.usage, seen.outcome.usage
    if shown is not None and any(shown.get(name, wanted[name]) != wanted[name] for name in wanted):
        yield f"the client reports {dict(shown)}, the API counted {wanted}"


def _quote_all(texts: list[str]) -> str:
    return ", ".join(map(quote, texts)) or "nothing"


def _list_calls(calls: list[ToolCall]) -> str:
    return ", ".join(f"{name}({arguments})" for name, arguments in calls) or "none"


@check
def repeats_nothing(seen: ObservedRun) -> Iterator[str]:
    """Check that each request has each prompt so far once, or only the new one if the API keeps the state."""
    replays = seen.task.state in ("replay", "stateless")
    for exchange in accepted(seen):
        texts = [text_of(item) for item in _items(exchange) if item.get("role") == "user"]
        last = max((seen.task.prompts.index(text) for text in texts if text in seen.task.prompts), default=None)
        # A request within a tool loop may have no prompt at all, for example with `previous_response_id`.
        if last is None:
            continue
        for prompt in seen.task.prompts[: last + 1]:
            due = 1 if replays or prompt == seen.task.prompts[last] else 0
            if (count := texts.count(prompt)) != due:
                yield f"request {exchange.number} holds the prompt {quote(prompt)} {pluralize(count, 'time')}, not {due}"


@check
def continues(seen: ObservedRun) -> Iterator[str]:
    """Check that each request names the previous response, or that all name the same conversation."""
    exchanges = accepted(seen)
    named = [_session_of(exchange.request.body) for exchange in exchanges]
    if seen.task.state == "chain":
        wanted: list[Any] = [None, *(exchange.answer.body["id"] for exchange in exchanges[:-1])]
    else:
        wanted = named[:1] * len(named) if named and named[0] else ["a conversation"]
    if named != wanted and seen.task.state in ("chain", "conversation"):
        yield f"the requests name {named}; expected {wanted}"


@check
def stores_nothing(seen: ObservedRun) -> Iterator[str]:
    """Check that each request has `store: false` and names no response or conversation."""
    for exchange in accepted(seen):
        if exchange.request.body.get("store") is not False or _session_of(exchange.request.body):
            yield f"request {exchange.number} has the response stored, or continues a stored one"


@check
def keeps_instructions(seen: ObservedRun) -> Iterator[str]:
    """Check that each request has the instructions of the task."""
    for exchange in accepted(seen):
        if seen.task.instructions not in instructions_of(exchange):
            yield f"request {exchange.number} lacks the instructions {quote(seen.task.instructions)}"


@check
def compacts(seen: ObservedRun, *gone: str) -> Iterator[str]:
    """Check that the last request has a compaction item, and none of these assistant texts."""
    items = [item for exchange in accepted(seen)[-1:] for item in _items(exchange)]
    if not any(item.get("type") == "compaction" for item in items):
        yield "the last request has no compaction item"
    texts = [text_of(item) for item in items if item.get("role") == "assistant"]
    yield from (f"the last request still holds {quote(text)}" for text in gone if text in texts)


@check
def keeps_reasoning(seen: ObservedRun) -> Iterator[str]:
    """Check that the model got all of its earlier reasoning with each request."""
    history, missing, reasons = History(), set[str](), Counter[str]()
    for exchange in seen.exchanges:
        request = history.read_request(exchange) if exchange.status == 200 else None
        if request and request.is_asked:
            said = {item["id"] for reply in history.replies for item in reply.output if item["type"] == "reasoning"}
            read = {found.item["id"] for item in request.other_items if (found := history.find_output(item))}
            missing |= said - read
            reasons.update(str(entry.get("reason")) for entry in request.withheld)
        history.add_exchange(exchange, request)
    if missing:
        yield f"{pluralize(len(missing), 'reasoning item')} left out"
    if reasons:
        yield f"reasoning withheld: {', '.join(reasons)}"


@check
def kept_apart(seen: ObservedRun, instructions: str, *texts: str) -> Iterator[str]:
    """Check that the agent with these instructions has sent requests, all without these texts."""
    own = [exchange for exchange in accepted(seen) if instructions in instructions_of(exchange)]
    if not own:
        yield f"no request came with the instructions {quote(instructions)}"
    for exchange in own:
        sent = str(exchange.request.body.get("input"))
        yield from (f"request {exchange.number} of that agent holds {quote(text)}" for text in texts if text in sent)


def instructions_of(exchange: Exchange) -> str:
    """Return the instructions of a request, with those of its system and developer messages."""
    leading = [text_of(item) for item in _items(exchange) if item.get("role") in ("system", "developer")]
    return "\n".join([exchange.request.body.get("instructions") or "", *leading])


def accepted(seen: ObservedRun) -> Sequence[Exchange]:
    """Return the requests to the model that were accepted."""
    return [exchange for exchange in seen.exchanges if asks_model(exchange.request) and exchange.status == 200]


def _items(exchange: Exchange) -> Sequence[Json]:
    return input_items(exchange.request.body)


def _session_of(body: Json) -> Any:
    conversation = body.get("conversation")
    return body.get("previous_response_id") or (
        conversation.get("id") if isinstance(conversation, dict) else conversation
    )


def text_of(item: Json) -> str:
    """Return the text of a message."""
    content = item.get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)
