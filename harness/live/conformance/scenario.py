"""What a story is: requests to a server, and claims about the answers, true or not."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from harness.core.exchange import Json
from harness.core.shorten import shorten
from harness.live.client.http import ServerReply

QUESTION = "What is the capital of France? Answer in one word."


class Claim(NamedTuple):
    """What a story claims, and what speaks against it; empty when it is true."""

    text: str
    problem: str = ""


class ServerUnderTest(Protocol):
    """What a story may ask of the server."""

    timeout: float

    def lacks(self, surface: str) -> bool:
        """Whether the server has no such optional endpoint."""

    def ask(self, on: str, body: Json | None = None) -> ServerReply:
        """The reply to `POST /responses` with this body over the model's name, or to another operation."""

    def connected(self) -> AbstractContextManager[Callable[[Json], ServerReply]]:
        """What asks for responses with such bodies over one WebSocket."""


class Unanswered(Exception):
    """A story that cannot go on."""


ScenarioClaims = Generator[Claim, None, None]
ScenarioStep = Generator[Claim, None, Any]
SCENARIOS: dict[str, Callable[[ServerUnderTest], Iterator[Claim]]] = {}
"""Every story by name."""


def scenario(story: Callable[[ServerUnderTest], ScenarioClaims]) -> Callable[[ServerUnderTest], ScenarioClaims]:
    """Register a story under the name of its function."""
    SCENARIOS[story.__name__.replace("_", " ")] = story
    return story


def run_scenario(story: Callable[[ServerUnderTest], Iterator[Claim]], server: ServerUnderTest) -> Iterator[Claim]:
    """The claims of a story, to the one that it cannot go on after."""
    try:
        yield from story(server)
    except Unanswered:
        return
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        yield Claim("its answers have the form of the API's", f"{type(problem).__name__}: {problem}")


def require_response(server: ServerUnderTest, body: Json, claim: str = "the request is answered") -> ScenarioStep:
    """The response to a request that must be answered."""
    return (yield from require_answer(server, "POST /responses", body, claim))


def require_answer(server: ServerUnderTest, on: str, body: Json | None = None, claim: str = "") -> ScenarioStep:
    """The answer that an operation must give; without it the story ends."""
    reply = server.ask(on, body)
    whole = reply.is_accepted and isinstance(reply.body, dict)
    yield Claim(claim or f"{on.partition(' ')[0]} is answered", "" if whole else explain_failure(reply))
    if not whole:
        raise Unanswered
    return reply.body


def explain_failure(reply: ServerReply) -> str:
    """What came instead of an answer."""
    return reply.fault or f"{reply.status}: {shorten(json.dumps(reply.body, ensure_ascii=False), 200)}"


def claim_equal(claim: str, found: Any, due: Any) -> Claim:
    """That something is as it must be."""
    return Claim(claim, "" if found == due else f"it is {shorten_json(found)}, not {shorten_json(due)}")


def shorten_json(value: Any) -> str:
    """The beginning of a value as JSON."""
    return shorten(json.dumps(value, ensure_ascii=False), 120)


def items_of(response: Json, type: str) -> list[Json]:
    """The items of a kind that a response put out."""
    output = response.get("output")
    return (
        [one for one in output if isinstance(one, dict) and one.get("type") == type] if isinstance(output, list) else []
    )


def text_of(response: Json) -> str:
    """All that a response says."""
    parts = [
        part for item in items_of(response, "message") for part in item.get("content") or () if isinstance(part, dict)
    ]
    return "".join(str(part.get("text", "")) for part in parts)


def id_of(response: Json) -> str:
    """The id by which it is named."""
    return str(response.get("id"))


def user_message(text: str) -> Json:
    """A message of the user."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def claim_completed_text(response: Json) -> Iterator[Claim]:
    """That a response came to its end and says something."""
    yield claim_equal("the response is completed", response.get("status"), "completed")
    yield Claim("it says something", "" if text_of(response).strip() else "its output has no text")


def claim_refused(claim: str, reply: ServerReply) -> Claim:
    """That a request is refused, in whatever words: those are the rules' business."""
    right = 400 <= reply.status < 500
    return Claim(claim, "" if right else f"it is answered by {reply.status or reply.fault}")
