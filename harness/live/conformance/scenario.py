"""Scenarios: requests to a server, and claims about its answers that are true or false."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from harness.core.advice_wording import render_json
from harness.core.exchange import Json
from harness.core.json_values import objects_in
from harness.live.http import ServerReply

QUESTION = "What is the capital of France? Answer in one word."


class Claim(NamedTuple):
    """A claim of a scenario, and the evidence against it, empty if it is true."""

    text: str
    problem: str = ""


class ServerUnderTest(Protocol):
    """What a scenario can do with the server under test."""

    timeout: float

    def lacks(self, endpoint: str) -> bool:
        """Return whether the server lacks an optional endpoint."""

    def send(self, on: str, body: Json | None = None) -> ServerReply:
        """Send `POST /responses` with the model and this body, or another operation, and return the reply."""

    def connected(self) -> AbstractContextManager[Callable[[Json], ServerReply]]:
        """Open a WebSocket and return a function that sends requests for responses over it."""


class Unanswered(Exception):
    """Raised when an answer lacks what the rest of the scenario needs."""


ScenarioClaims = Generator[Claim, None, None]
ScenarioStep = Generator[Claim, None, Any]
SCENARIOS: dict[str, Callable[[ServerUnderTest], Iterator[Claim]]] = {}


def scenario(function: Callable[[ServerUnderTest], ScenarioClaims]) -> Callable[[ServerUnderTest], ScenarioClaims]:
    """Register a scenario under the name of its function."""
    SCENARIOS[function.__name__.replace("_", " ")] = function
    return function


def run_scenario(function: Callable[[ServerUnderTest], Iterator[Claim]], server: ServerUnderTest) -> Iterator[Claim]:
    """Yield the claims of a scenario, until it ends or cannot continue."""
    try:
        yield from function(server)
    except Unanswered:
        return
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        yield Claim("its answers have the form of the API's", f"{type(problem).__name__}: {problem}")


def require_response(server: ServerUnderTest, body: Json, claim: str = "the request is answered") -> ScenarioStep:
    """Send a request for a response and return it; without a response the scenario ends."""
    return (yield from require_answer(server, "POST /responses", body, claim))


def require_answer(server: ServerUnderTest, on: str, body: Json | None = None, claim: str = "") -> ScenarioStep:
    """Send a request to an operation and return the answer; without an answer the scenario ends."""
    reply = server.send(on, body)
    is_answered = reply.is_accepted and isinstance(reply.body, dict)
    yield Claim(claim or f"{on.partition(' ')[0]} is answered", "" if is_answered else explain_failure(reply))
    if not is_answered:
        raise Unanswered
    return reply.body


def explain_failure(reply: ServerReply) -> str:
    """Describe what came instead of the expected answer."""
    return reply.fault or f"{reply.status}: {render_json(reply.body, 200)}"


def claim_equal(claim: str, found: Any, expected: Any) -> Claim:
    """Claim that two values are equal."""
    return Claim(
        claim, "" if found == expected else f"it is {render_json(found, 120)}, not {render_json(expected, 120)}"
    )


def items_of(response: Json, type: str) -> list[Json]:
    """List the output items of this type in a response."""
    return [item for item in objects_in(response.get("output")) if item.get("type") == type]


def text_of(response: Json) -> str:
    """Join the text of all messages in a response."""
    contents = (item.get("content") or () for item in items_of(response, "message"))
    return "".join(str(part.get("text", "")) for content in contents for part in content if isinstance(part, dict))


def id_of(response: Json) -> str:
    """Return the id of a response or another object."""
    return str(response.get("id"))


def user_message(text: str) -> Json:
    """Build a user message."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def claim_completed_text(response: Json) -> Iterator[Claim]:
    """Claim that a response is completed and has text."""
    yield claim_equal("the response is completed", response.get("status"), "completed")
    yield Claim("it says something", "" if text_of(response).strip() else "its output has no text")


def claim_refused(claim: str, reply: ServerReply) -> Claim:
    """Claim that a request is refused, whatever the message: the questions about rules grade messages."""
    is_refused = 400 <= reply.status < 500
    return Claim(claim, "" if is_refused else f"it is answered by {reply.status or reply.fault}")
