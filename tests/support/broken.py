"""Real clients with one classic bug each: the SDK is subclassed where it sends, everything else stays as it is.

A bug is a function `(given, said) -> sent`: the input items the application gave, every item sent or received before,
and what goes out in their place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response

Items = list[Any]
Bug = Callable[[Items, Items], Items]

REPORT = {"type": "input_file", "file_url": "https://example.com/report.pdf"}


def drops_a_tool_output(given: Items, said: Items) -> Items:
    """Of several outputs only the first arrives."""
    outputs = [item for item in given if item.get("type") == "function_call_output"]
    return [item for item in given if item not in outputs[1:]]


def drops_the_calls(given: Items, said: Items) -> Items:
    """A history that was cut keeps the outputs and loses the calls they answer."""
    return [item for item in given if item.get("type") != "function_call"]


def sends_the_transcript_again(given: Items, said: Items) -> Items:
    """The whole transcript goes out on top of the response that holds it already."""
    return [*said, *given]


def files_in_assistant_turns(given: Items, said: Items) -> Items:
    """A framework that keeps attachments with the answer."""
    return [{**item, "content": [REPORT]} if item.get("role") == "assistant" else item for item in given]


def call_id_as_id(given: Items, said: Items) -> Items:
    """The `call_id` of a call is taken for its id."""
    return [{**item, "id": item["call_id"]} if item.get("type") == "function_call" else item for item in given]


def drops_reasoning(given: Items, said: Items) -> Items:
    """Whatever is neither a message nor a call is left out of the history."""
    return [item for item in given if item.get("type") != "reasoning"]


def drops_ids_of_messages(given: Items, said: Items) -> Items:
    """The assistant's message is made anew, without the id that ties it to its reasoning."""
    return [{name: item[name] for name in item if name != "id" or "role" not in item} for item in given]


def _as_items(given: Any) -> Items:
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)


class BrokenOpenAI(OpenAI):
    """An `OpenAI` whose every request suffers from a bug."""

    def __init__(self, bug: Bug, **options: Any) -> None:
        self._bug = bug
        self._said: Items = []
        super().__init__(**options)

    def post(self, path: str, *, body: Any = None, **options: Any) -> Any:
        """Send what the bug makes of the input, and remember what was said."""
        given = _as_items(body["input"])
        answer = super().post(path, body={**body, "input": self._bug(given, self._said)}, **options)
        self._said += [*given, *_output(answer)]
        return answer


class BrokenAsyncOpenAI(AsyncOpenAI):
    """The same for `AsyncOpenAI`."""

    def __init__(self, bug: Bug, **options: Any) -> None:
        self._bug = bug
        self._said: Items = []
        super().__init__(**options)

    async def post(self, path: str, *, body: Any = None, **options: Any) -> Any:
        """Send what the bug makes of the input, and remember what was said."""
        given = _as_items(body["input"])
        answer = await super().post(path, body={**body, "input": self._bug(given, self._said)}, **options)
        self._said += [*given, *_output(answer)]
        return answer


def _output(answer: Response) -> Items:
    return [item.model_dump(exclude_none=True) for item in answer.output]
