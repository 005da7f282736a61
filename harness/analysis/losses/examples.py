"""Building blocks for the examples of losses: items that a client sends, and turns of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.items import function_call, message, reasoning


def ask(
    *requests: str | list[Any] | Json | Case, turns: Sequence[Any] = (), sent: Sequence[Json] = (), **more: Any
) -> Case:
    """Build an example of requests: each a whole body, or an `input` that is sent with these members; see `after`.

    A string stands for items by their letters (SKETCHED), as an input or within its list: `ask("P", "P C O A N")`.
    """
    bodies = (request if isinstance(request, dict | Case) else body(*request, **more) for request in requests)
    return after(*bodies, turns=turns, sent=sent)


def body(*items: str | Json, **members: Any) -> Json:
    """Build a request with these items as its `input`, and other members."""
    return {"input": sketch(*items), **members}


def chained(*items: str | Json) -> Json:
    """Build a request that continues the first answer with these items."""
    return {"previous_response_id": "{0.id}", "input": sketch(*items)}


def sketch(*items: str | Json) -> list[Json]:
    """Return items, for a string those of its letters."""
    listed = (item.split() if isinstance(item, str) else [item] for item in items)
    return [SKETCHED[item] if isinstance(item, str) else item for part in listed for item in part]


def user(content: str | list[Json]) -> Json:
    """Build a user message, from a string or from parts."""
    return {"role": "user", "content": content}


def assistant(text: str, **members: Any) -> Json:
    """Build an assistant message with one part."""
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
        **members,
    }


def call(call_id: str = "call_1", name: str = "deploy", arguments: str = '{"ref":"v2"}') -> Json:
    """Build a function call as a client sends it back."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str = "call_1", value: Any = "v2 is live") -> Json:
    """Build the output of a function call."""
    return {"type": "function_call_output", "call_id": call_id, "output": value}


PROMPT, NEXT = user("Ship v2, please."), user("And now?")
DEPLOY = function_call("deploy", {"ref": "v2"}, call_id="call_1", off_schema=True)
NOTIFY = function_call("notify", {"who": "ops"}, call_id="call_2", off_schema=True)
TEXT = "I will deploy v2 and tell the operators about it."
REPLY = message(TEXT)
THOUGHT = reasoning("**Planning**")
STATELESS: Json = {"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}
"""The members of a request whose reasoning is encrypted and not stored."""
ENCRYPTED_THOUGHT: Json = {"type": "reasoning", "summary": [], "encrypted_content": "{0.output.0.encrypted_content}"}
"""The first item of the first answer, reasoning, as a client sends it back."""
SKETCHED = {"P": PROMPT, "T": ENCRYPTED_THOUGHT, "C": call(), "O": output(), "A": assistant(TEXT), "N": NEXT}
"""The items of most examples: the prompt, thoughts, a call, its output, the assistant's reply, and the next prompt."""
TOOLS: list[Json] = [
    {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}, "strict": False}
    for name in ("deploy", "notify")
]
