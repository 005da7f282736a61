"""`Chat`: plays a chat UI in front of a server under test whose model is the mock; `linear` checks the requests.

chat = Chat("http://127.0.0.1:9000/v1", "any key", mode="both")
for question in ("Who?", "Where?", "When?"):
    chat.say(question)
linear(mock.exchanges, chat)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, get_args

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.lanes import asks_model, group_by_lane
from harness.analysis.loss import Lost, losses_in_accepted
from harness.api.responses import END_EVENTS
from harness.core.errors import ConfigError
from harness.core.exchange import Exchange, Json, SentTurn, ToolRuns
from harness.core.json_values import as_object
from harness.core.text import item_text, pluralize, quote, summarize_item
from harness.drive.clients import import_openai
from harness.drive.counted_functions import RECORDINGS
from harness.items.kind import CALL_OF_OUTPUT
from harness.items.transcript import input_items
from harness.server.deadline import run_within

Mode = Literal["replay", "chain", "both"]
"""How a turn continues the conversation: by resending all previous items, by `previous_response_id`, or by both."""

ANSWER_SECONDS = 600.0
"""Seconds that an answer may take from the request to its last byte, unless `timeout` says so: as long as the SDK waits."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The answer to one turn: its text, its output items, the response; all as received."""

    text: str
    items: Sequence[Json]
    response: Json


class Chat:
    """A conversation with a server that speaks the Responses API at `base_url`; each `say` is one turn.

    `mode` says how turns continue, `stream` whether they are streamed, `timeout` how many seconds an answer may take;
    other keyword arguments are sent with every request. `texts` are the user's texts so far, `items` all items of the
    conversation, `turns` its state at each `say`. An error answer raises the exception of the `openai` package.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        model: str = "gpt-4.1",
        mode: Mode = "replay",
        stream: bool = True,
        timeout: float = ANSWER_SECONDS,
        **request: Any,
    ) -> None:
        if mode not in get_args(Mode):
            raise ConfigError(f"Chat(mode={mode!r}): use one of {', '.join(get_args(Mode))}.")
        self.texts: list[str] = []
        self.items: list[Json] = []
        self.turns: list[SentTurn] = []
        self._last_response_id: str | None = None
        self._mode, self._stream, self._timeout = mode, stream, timeout
        self._request = {"model": model, **request}
        self._client = import_openai("Chat").OpenAI(base_url=base_url, api_key=api_key, max_retries=0)

    def __enter__(self) -> Chat:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client's connections."""
        self._client.close()

    def say(self, text: str) -> ChatReply:
        """Send one turn and return the answer.

        AssertionError if its stream does not have exactly one final event, TimeoutError if it did not end in time.
        """
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        request: Json = {**self._request, "input": [message] if self._mode == "chain" else [*self.items, message]}
        if self._last_response_id and self._mode != "replay":
            request["previous_response_id"] = self._last_response_id
        self._record_turn(message)
        try:
            reply = run_within(self._timeout, lambda: self._send(request), self.close)
        except TimeoutError as problem:
            number, advice = len(self.turns), "If the server needs longer, pass Chat(…, timeout=SECONDS)."
            raise TimeoutError(
                f"turn {number}: its answer did not end within {self._timeout:g} s. {advice}"
            ) from problem
        self.texts.append(text)
        self.items += [message, *reply.items]
        self._last_response_id = reply.response["id"]
        return reply

    def _record_turn(self, message: Json) -> None:
        """Record what the server should send its model, here and for the running tests."""
        turn = SentTurn(len(self.texts) + 1, [*self.items, message])
        self.turns.append(turn)
        for recording in RECORDINGS:
            recording.turns.append(turn)

    def _send(self, request: Json) -> ChatReply:
        if not self._stream:
            return _reply_from(_dump_json(self._client.responses.create(**request)))
        with self._client.responses.create(**request, stream=True) as stream:
            events = [_dump_json(event) for event in stream]
        ended = [event["response"] for event in events if event["type"] in END_EVENTS]
        if len(ended) != 1:
            last = events[-1]["type"] if events else "nothing"
            number = len(self.texts) + 1
            raise AssertionError(f"turn {number}: its stream has {len(ended)} ends, not one; the last event is {last}.")
        done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
        deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
        reply = _reply_from({**ended[0], "output": ended[0].get("output") or done})
        return ChatReply("".join(deltas) or reply.text, reply.items, reply.response)


def _dump_json(model: Any) -> Json:
    members: Json = model.model_dump(mode="json", exclude_unset=True, warnings=False)
    return members


def _reply_from(response: Json) -> ChatReply:
    messages = [item for item in response["output"] if item.get("type") == "message"]
    return ChatReply("".join(map(item_text, messages)), response["output"], response)


SENT_CHANGED = "sent-changed"
"""The loss that compares the requests with what a chat UI sent."""


def linear(exchanges: Iterable[Exchange], texts: Sequence[str] | Chat = ()) -> None:
    """Raise AssertionError if a request to the model has an empty message, a duplicate item, or more than one new turn.

    Each agent is checked separately. An item may occur as often as in the request before, once more if it is in the
    output of that request, and once more if it is new, that is, after all output of the model. With the user's `texts`
    (`chat.texts`), none of them may occur more often than it was sent, not even inside a joined message. With the
    `chat` itself, everything it sent must also have arrived (the loss `sent-changed`). Requests to other endpoints are
    ignored.
    """
    __tracebackhide__ = True
    journal = list(exchanges)
    said: Sequence[str] = texts if isinstance(texts, Sequence) else texts.texts
    changes = () if isinstance(texts, Sequence) else _find_sent_changes(journal, texts.turns)
    if problem := describe_nonlinear(journal, said, changes):
        raise AssertionError(problem)


def describe_nonlinear(journal: Sequence[Exchange], texts: Sequence[str], changes: Sequence[Lost] = ()) -> str:
    """Describe the first request that is not linear, or has one of the `changes`; empty if all are linear."""
    model_requests = [exchange for exchange in journal if asks_model(exchange.request)]
    for lane in group_by_lane(model_requests).values():
        previous: Exchange | None = None
        for exchange in lane:
            found = (f"{lost.at}: {lost.message}" for lost in changes if lost.exchange == exchange.number)
            if problem := next(chain(_find_problems(exchange, previous, texts), found), None):
                sizes = ", ".join(str(len(_input_items(exchange))) for exchange in lane)
                return f"request {exchange.number}: {problem}\nitems in the requests of this agent: {sizes}"
            previous = exchange
    return ""


def _find_sent_changes(journal: Sequence[Exchange], turns: list[SentTurn]) -> Sequence[Lost]:
    """Find what a chat UI sent in these turns that did not reach the model."""
    found = losses_in_accepted(journal, strict=True, tool_runs=ToolRuns(turns=turns))
    return [lost for lost in found if lost.loss == SENT_CHANGED]


def _find_problems(exchange: Exchange, previous: Exchange | None, texts: Sequence[str]) -> Iterator[str]:
    items = _input_items(exchange)
    for place, item in enumerate(items):
        if _is_empty(item):
            yield f"input[{place}] is an empty message: {summarize_item(item)}"
    known = [*_input_items(previous), *_output_items(previous)] if previous else items[: _new_items_start(items)]
    allowed = Counter(map(_item_key, known))
    new = set(map(_item_key, items[_new_items_start(items) :]))
    seen: Counter[str] = Counter()
    for place, item in enumerate(items):
        seen[_item_key(item)] += 1
        if seen[_item_key(item)] > max(allowed[_item_key(item)] + (_item_key(item) in new), 1):
            yield f"input[{place}] appears twice: {summarize_item(item)}"
    for text, times in Counter(texts).items():
        if (found := sum(_count_text(text, item) for item in items if item.get("role") == "user")) > times:
            yield f"the user's text {quote(text)} appears {found} times, but was sent {pluralize(times, 'time')}"
    if len(items) > (allowed_count := len(known) + len(items) - _new_items_start(items)):
        yield f"it has {len(items)} items, but at most {allowed_count} were expected"


def _input_items(exchange: Exchange) -> list[Json]:
    body = as_object(exchange.request.body)
    return [item for item in input_items(body) if isinstance(item, dict)]


def _output_items(exchange: Exchange) -> list[Json]:
    body = exchange.answer.body
    return list(body.get("output") or ()) if isinstance(body, dict) else []


def _new_items_start(items: Sequence[Json]) -> int:
    """Return the index of the first item after all output of the model."""
    output_places = (place for place, item in enumerate(items) if not _is_client_item(item))
    return max(output_places, default=-1) + 1


def _is_client_item(item: Json) -> bool:
    kind = item.get("type", "message")
    return (
        kind in CALL_OF_OUTPUT
        or kind == "mcp_approval_response"
        or (kind == "message" and item.get("role") != "assistant")
    )


def _is_empty(item: Json) -> bool:
    """Return whether an item is a message without text, file or image."""
    if item.get("type", "message") != "message" or "role" not in item:
        return False
    content = item.get("content")
    if not isinstance(content, list):
        return not str(content or "").strip()
    return not any(str(part.get("text", part.get("refusal", "-")) or "").strip() for part in content)


def _item_key(item: Json) -> str:
    """Return the identity of an item: role and text of a message, the call it makes or answers, otherwise its id."""
    kind = item.get("type", "message")
    if kind == "message":
        return f"{item.get('role')} {item_text(item)}"
    return f"{kind} {item.get('call_id') or item.get('approval_request_id') or item.get('id') or item_text(item)}"


def _count_text(text: str, item: Json) -> int:
    """Count how often a message contains a text as whole lines."""
    return f"\n{item_text(item)}\n".replace("\n", "\n\n").count("\n" + "\n\n".join(text.split("\n")) + "\n")
