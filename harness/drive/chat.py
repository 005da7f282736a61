"""`Chat`: plays a chat UI in front of a server under test whose model is the mock; `linear` checks the requests.

chat = Chat("http://127.0.0.1:9000/v1", "any key", mode="both")
for question in ("Who?", "Where?", "When?"):
    chat.say(question)
linear(mock.exchanges, chat)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from harness.api.responses import END_EVENTS
from harness.core.errors import ConfigError
from harness.core.exchange import Json, SentTurn
from harness.core.text import item_text
from harness.drive.clients import import_openai
from harness.drive.counted import RECORDINGS
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
    """Dump an SDK object as the JSON that was received."""
    members: Json = model.model_dump(mode="json", exclude_unset=True, warnings=False)
    return members


def _reply_from(response: Json) -> ChatReply:
    messages = [item for item in response["output"] if item.get("type") == "message"]
    return ChatReply("".join(map(item_text, messages)), response["output"], response)
