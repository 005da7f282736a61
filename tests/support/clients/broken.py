"""Real clients with one classic bug each: the SDK is subclassed where it sends, everything else stays as it is.

A bug is a function of the input items that the application gave and of every item sent or received before; it returns
the items that are sent instead.
"""

from collections.abc import Callable
from typing import Any

from openai import AsyncOpenAI, OpenAI
from openai.types.responses import Response

Items = list[Any]
Bug = Callable[[Items, Items], Items]

REPORT = {"type": "input_file", "file_url": "https://example.com/report.pdf"}


def drops_a_tool_output(items: Items, transcript: Items) -> Items:
    """Of several outputs only the first arrives."""
    outputs = [item for item in items if item.get("type") == "function_call_output"]
    return [item for item in items if item not in outputs[1:]]


def drops_the_calls(items: Items, transcript: Items) -> Items:
    """A history that was cut keeps the outputs and loses the calls they answer."""
    return [item for item in items if item.get("type") != "function_call"]


def sends_the_transcript_again(items: Items, transcript: Items) -> Items:
    """The whole transcript goes out on top of the response that holds it already."""
    return [*transcript, *items]


def files_in_assistant_turns(items: Items, transcript: Items) -> Items:
    """A framework keeps attachments with the answer."""
    return [{**item, "content": [REPORT]} if item.get("role") == "assistant" else item for item in items]


def call_id_as_id(items: Items, transcript: Items) -> Items:
    """The `call_id` of a call is taken for its id."""
    return [{**item, "id": item["call_id"]} if item.get("type") == "function_call" else item for item in items]


def drops_reasoning(items: Items, transcript: Items) -> Items:
    """Whatever is neither a message nor a call is left out of the history."""
    return [item for item in items if item.get("type") != "reasoning"]


def drops_ids_of_messages(items: Items, transcript: Items) -> Items:
    """The assistant's message is made anew, without the id that ties it to its reasoning."""
    return [{name: item[name] for name in item if name != "id" or "role" not in item} for item in items]


def _as_items(items: Any) -> Items:
    return [{"role": "user", "content": items}] if isinstance(items, str) else list(items)


class BrokenOpenAI(OpenAI):
    """An `OpenAI` whose every request suffers from a bug."""

    def __init__(self, bug: Bug, **options: Any) -> None:
        self._bug = bug
        self._transcript: Items = []
        super().__init__(**options)

    def post(self, path: str, *, body: Any = None, **options: Any) -> Any:
        """Send what the bug makes of the input, and add to the transcript."""
        items = _as_items(body["input"])
        answer = super().post(path, body={**body, "input": self._bug(items, self._transcript)}, **options)
        self._transcript += [*items, *_output(answer)]
        return answer


class BrokenAsyncOpenAI(AsyncOpenAI):
    """The same for `AsyncOpenAI`."""

    def __init__(self, bug: Bug, **options: Any) -> None:
        self._bug = bug
        self._transcript: Items = []
        super().__init__(**options)

    async def post(self, path: str, *, body: Any = None, **options: Any) -> Any:
        """Send what the bug makes of the input, and add to the transcript."""
        items = _as_items(body["input"])
        answer = await super().post(path, body={**body, "input": self._bug(items, self._transcript)}, **options)
        self._transcript += [*items, *_output(answer)]
        return answer


def _output(answer: Response) -> Items:
    return [item.model_dump(exclude_none=True) for item in answer.output]
