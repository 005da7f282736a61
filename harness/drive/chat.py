"""A chat UI that talks to a server under test whose model is the mock: `Chat` plays it, `linear` judges what came through.

chat = Chat("http://127.0.0.1:9000/v1", "any key", mode="both")
for question in ("Who?", "Where?", "When?"):
    chat.say(question)
linear(mock.exchanges, chat.texts)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from harness.analysis.lanes import asks_model, group_by_lane
from harness.api.statuses import END_EVENTS
from harness.core.errors import ConfigError
from harness.core.exchange import Exchange, Json
from harness.core.shorten import item_text, quote, summarize_item
from harness.items.kind import CALL_OF_OUTPUT
from harness.items.transcript import input_items

Mode = Literal["replay", "chain", "both"]
"""How a turn goes on: all items of the turns before are sent again, the last response is named, or both."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What the server said to one turn: its text, its output items, the whole response; all as they came."""

    text: str
    items: Sequence[Json]
    response: Json


class Chat:
    """A conversation with a server that speaks the Responses API at `base_url`, one `say` a turn.

    `mode` says how turns go on, `stream` whether they are streamed; what else is given is sent with every request.
    `texts` are the user's so far, `items` all items of the conversation. An answer that is an error is raised as the
    `openai` package does.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        model: str = "gpt-4.1",
        mode: Mode = "replay",
        stream: bool = True,
        **request: Any,
    ) -> None:
        if mode not in get_args(Mode):
            raise ConfigError(f"Chat(mode={mode!r}): it is one of {', '.join(get_args(Mode))}.")
        self.texts: list[str] = []
        self.items: list[Json] = []
        self._last_response_id: str | None = None
        self._mode, self._stream = mode, stream
        self._request = {"model": model, **request}
        self._client = _openai_client(base_url, api_key)

    def __enter__(self) -> Chat:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def say(self, text: str) -> ChatReply:
        """One turn: what the server says to this. A stream that does not tell its end is an AssertionError."""
        asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        request: Json = {**self._request, "input": [asked] if self._mode == "chain" else [*self.items, asked]}
        if self._last_response_id and self._mode != "replay":
            request["previous_response_id"] = self._last_response_id
        reply = (
            self._send_streamed(request)
            if self._stream
            else _reply_from(_dump_json(self._client.responses.create(**request)))
        )
        self.texts.append(text)
        self.items += [asked, *reply.items]
        self._last_response_id = reply.response["id"]
        return reply

    def _send_streamed(self, request: Json) -> ChatReply:
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


def _openai_client(base_url: str, api_key: str) -> Any:
    try:
        import openai
    except ImportError as problem:
        raise ConfigError('Chat needs the openai package: pip install "responses-harness[openai]"') from problem
    return openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0)


def _dump_json(thing: Any) -> Json:
    """An object of the SDK as it came."""
    told: Json = thing.model_dump(mode="json", exclude_unset=True, warnings=False)
    return told


def _reply_from(response: Json) -> ChatReply:
    said = [item for item in response["output"] if item.get("type") == "message"]
    return ChatReply("".join(map(item_text, said)), response["output"], response)


def linear(exchanges: Iterable[Exchange], texts: Sequence[str] = ()) -> None:
    """AssertionError when requests to the model carry something empty, something twice, or grow by more than a turn.

    Each agent is judged by itself: an item may stand in a request as often as in the one before, once more if the model
    said it to that, and once more if it is new: after all that the model said. `texts` are those of the user, `chat.texts`:
    then none may stand in a request more often than it was said, in messages that were joined neither. Requests to other
    endpoints do not count.
    """
    asked = [one for one in exchanges if asks_model(one.request)]
    for own in group_by_lane(asked).values():
        before: Exchange | None = None
        for one in own:
            if problem := next(_find_problems(one, before, texts), None):
                sizes = ", ".join(str(len(_input_items(each))) for each in own)
                raise AssertionError(f"request {one.number}: {problem}\nitems in the requests of this agent: {sizes}")
            before = one


def _find_problems(one: Exchange, before: Exchange | None, texts: Sequence[str]) -> Iterator[str]:
    items = _input_items(one)
    for place, item in enumerate(items):
        if _is_empty(item):
            yield f"input[{place}] is an empty message: {summarize_item(item)}"
    known = [*_input_items(before), *_output_items(before)] if before else items[: _new_items_start(items)]
    allowed = Counter(map(_item_key, known))
    new = set(map(_item_key, items[_new_items_start(items) :]))
    seen: Counter[str] = Counter()
    for place, item in enumerate(items):
        seen[_item_key(item)] += 1
        if seen[_item_key(item)] > max(allowed[_item_key(item)] + (_item_key(item) in new), 1):
            yield f"input[{place}] stands there twice: {summarize_item(item)}"
    for text, times in Counter(texts).items():
        if (found := sum(_count_text(text, item) for item in items if item.get("role") == "user")) > times:
            yield f"the user's text {quote(text)} stands there {found} times, said {times}"
    if len(items) > (due := len(known) + len(items) - _new_items_start(items)):
        yield f"it has {len(items)} items, at most {due} were due"


def _input_items(one: Exchange) -> list[Json]:
    body = one.request.body if isinstance(one.request.body, dict) else {}
    return [item for item in input_items(body) if isinstance(item, dict)]


def _output_items(one: Exchange) -> list[Json]:
    body = one.answer.body
    return list(body.get("output") or ()) if isinstance(body, dict) else []


def _new_items_start(items: Sequence[Json]) -> int:
    """Where the items begin that come after all that the model said."""
    said = (place for place, item in enumerate(items) if not _is_client_item(item))
    return max(said, default=-1) + 1


def _is_client_item(item: Json) -> bool:
    kind = item.get("type", "message")
    return (
        kind in CALL_OF_OUTPUT
        or kind == "mcp_approval_response"
        or (kind == "message" and item.get("role") != "assistant")
    )


def _is_empty(item: Json) -> bool:
    """Whether an item is a message that says nothing, not even with a file or an image."""
    if item.get("type", "message") != "message" or "role" not in item:
        return False
    content = item.get("content")
    if not isinstance(content, list):
        return not str(content or "").strip()
    return not any(str(part.get("text", part.get("refusal", "-")) or "").strip() for part in content)


def _item_key(item: Json) -> str:
    """What makes an item the same: what a message says, the call that it makes or answers, else its id."""
    kind = item.get("type", "message")
    if kind == "message":
        return f"{item.get('role')} {item_text(item)}"
    return f"{kind} {item.get('call_id') or item.get('approval_request_id') or item.get('id') or item_text(item)}"


def _count_text(text: str, item: Json) -> int:
    """How often a text stands in a message, as whole lines."""
    return f"\n{item_text(item)}\n".replace("\n", "\n\n").count("\n" + "\n\n".join(text.split("\n")) + "\n")
