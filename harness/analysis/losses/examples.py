"""The notation for the examples of losses: items that a client sends and answers of the model, as letters or built here."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.items import function_call, message, reasoning


def ask(
    *requests: str | list[Any] | Json | Case,
    by: Sequence[str] = (),
    turns: Sequence[Any] = (),
    sent: Sequence[Json] = (),
    **more: Any,
) -> Case:
    """Build an example of requests: each a whole body, or a sketch of its `input`, sent with the members `more`.

    A sketch is a string of letters (`SENT`), or a list of such strings and items; the model's answer (`ANSWERED`)
    follows a `>`: `ask("P > C", "P C O > A", "P C O A N")`. `by` is what the agent of each request does, who is
    instructed `You plan.` by `plan`. `turns` are the answers to whole bodies; see `after`.
    """
    bodies, answers = [], [_answer(turn if isinstance(turn, list) else [turn]) for turn in turns]
    for request, role in zip_longest(requests, by):
        if not isinstance(request, dict | Case):
            signs = list(_signs(request))
            end = signs.index(">") if ">" in signs else len(signs)
            answers += [_answer(signs[end + 1 :])] if signs[end:] else []
            request = body(*signs[:end], **({"instructions": f"You {role}."} if role else {}), **more)
        bodies.append(request)
    return after(*bodies, turns=answers, sent=sent)


def body(*items: str | Json, **members: Any) -> Json:
    """Build a request with these items as its `input`, and other members."""
    return {"input": sketch(*items), **members}


def chained(*items: str | Json, to: int = 0) -> Json:
    """Build a request that continues the first answer, or that with the index `to`, with these items."""
    return {"previous_response_id": f"{{{to}.id}}", "input": sketch(*items)}


def sketch(*items: str | Json) -> list[Json]:
    """Return items, for a string those of its letters."""
    return [SENT[sign] if isinstance(sign, str) else sign for sign in _signs(items)]


def _signs(parts: str | Iterable[Any]) -> Iterable[Any]:
    for part in [parts] if isinstance(parts, str) else parts:
        yield from part.split() if isinstance(part, str) else [part]


def _answer(parts: Sequence[Any]) -> Any:
    """Return a turn of the model: its only item, or the list of its items."""
    items = [ANSWERED[sign] if isinstance(sign, str) else sign for sign in _signs(parts)]
    return items[0] if len(items) == 1 else items


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
TOLD = "The operators know of it, all of them."
REPLY = message(TEXT)
THOUGHT = reasoning("**Planning**")
STATELESS: Json = {"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}
"""The members of a request whose reasoning is encrypted and not stored."""
ENCRYPTED_THOUGHT: Json = {"type": "reasoning", "summary": [], "encrypted_content": "{0.output.0.encrypted_content}"}
"""The first item of the first answer, reasoning, as a client sends it back."""
SENT: dict[str, Json] = {
    "P": PROMPT,
    "N": NEXT,
    "N2": user("Who knows of it?"),
    "N3": user("Thanks."),
    "A": assistant(TEXT),
    "A2": assistant("Done."),
    "A3": assistant(TOLD),
    "T": ENCRYPTED_THOUGHT,
    "C": call(),
    "O": output(),
    "C2": call("call_2", "notify", '{"who":"ops"}'),
    "O2": output("call_2"),
}
"""The items of most examples: the prompt, the next ones, answers, reasoning, and two calls with their outputs."""
ANSWERED: dict[str, Any] = {
    "A": REPLY,
    "A2": message("Done."),
    "A3": message(TOLD),
    "T": THOUGHT,
    "C": DEPLOY,
    "C2": NOTIFY,
}
"""What the model emits: the answers, reasoning and calls of `SENT`."""
TOOLS: list[Json] = [
    {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}, "strict": False}
    for name in ("deploy", "notify")
]
