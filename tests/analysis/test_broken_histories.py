"""One long conversation of a client that keeps its history itself, broken in one place each time."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.analysis.loss import TOOLS, losses_of, output, user
from harness.core.exchange import Json
from harness.items import function_call, message, reasoning, url_citation
from tests.support.in_process import Client

FIRST, SECOND, THIRD = "Please ship version two.", "Who was told about the release?", "When is the next release?"
NOTES = url_citation("https://example.org/v2", "Notes")
Change = Callable[[list[Json]], list[Json]]
REASONING: Json = {"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}


def make_call(name: str, call_id: str) -> Any:
    return function_call(name, {"of": call_id}, call_id=call_id, off_schema=True)


STEPS: Sequence[tuple[list[Json], list[Any]]] = (
    ([user(FIRST)], [reasoning("**Plan**"), make_call("deploy", "call_1"), make_call("notify", "call_2")]),
    (
        [output("call_1", "v2 is live"), output("call_2", "ops were told")],
        [reasoning("**Done**"), message("Version two is live, see its notes.", annotations=[NOTES])],
    ),
    ([user(SECOND)], [message("The operators were told about the release.")]),
    ([user(THIRD)], [make_call("notify", "call_3")]),
    ([output("call_3", "planned for June")], [message("It is planned for June.")]),
    ([user("Thanks a lot for the help.")], [message("You are welcome, any time.")]),
)


def talk(change: Change, since: int, **members: Any) -> Client:
    """Hold the conversation; from request `since` on the history is changed before it is sent."""
    client, history = Client(), list[Json]()
    for number, (new, turn) in enumerate(STEPS, 1):
        client.mock.script(turn)
        history += new
        body: Json = {"instructions": "You ship software.", "tools": TOOLS, **REASONING}
        body |= members if number >= since else {}
        answer = client.ask(change([*history]) if number >= since else history, **body)
        assert answer.status == 200, answer.body
        history += answer.body["output"]
    return client


def found(change: Change, since: int, *, strict: bool = False, **members: Any) -> list[tuple[str, int]]:
    losses = losses_of(talk(change, since, **members).world.exchanges, strict)
    return [(lost.loss, lost.exchange) for lost in losses]


def prompt(text: str, *instead: Json) -> Change:
    """Put these items in place of a message of the user."""

    def change(history: list[Json]) -> list[Json]:
        return [new for item in history for new in (instead if item == user(text) else [item])]

    return change


@pytest.mark.parametrize("strict", [False, True])
def test_a_whole_history_has_lost_nothing(strict: bool) -> None:
    assert found(lambda history: history, 1, strict=strict) == []


@pytest.mark.parametrize(
    ("change", "since", "loss"),
    [
        (prompt(FIRST), 2, "prompt-dropped"),
        (prompt(SECOND), 4, "prompt-dropped"),
        (prompt(FIRST, user("Please ship version three.")), 2, "prompt-altered"),
        (prompt(SECOND, user("was told about the release?")), 4, "prompt-altered"),
        (prompt(SECOND, {"role": "developer", "content": SECOND}), 4, "prompt-altered"),
        (prompt(SECOND, user(FIRST)), 4, "prompt-altered"),
        (prompt(THIRD, user("undefined")), 5, "prompt-altered"),
    ],
)
def test_a_broken_history_is_a_loss(change: Change, since: int, loss: str) -> None:
    losses = found(change, since)
    assert {kind for kind, _ in losses} == {loss}
    assert losses[0] == (loss, since)


@pytest.mark.parametrize(
    "text",
    [
        f"{SECOND} Answer in one sentence.",
        f"{SECOND}\n\n<notes>It is live.</notes>",
        f"{SECOND} (it is 10:05)",
        f"Notes: it is live.\n\n{SECOND}",
        f"Ann (10:05): {SECOND}",
        f"@ops {SECOND}",
        f"> {SECOND}",
        "Who was told about the [REDACTED]?",
        "Who was told…",
        "Who was told?",
        "WHO was told, about the release",
        "[left out]",
    ],
)
def test_a_message_of_the_user_may_be_masked_shortened_or_put_into_context(text: str) -> None:
    assert found(prompt(SECOND, user(text)), 4) == []
    assert ("prompt-edited", 4) in found(prompt(SECOND, user(text)), 4, strict=True)


def test_turns_in_another_order_are_a_loss() -> None:
    def change(history: list[Json]) -> list[Json]:
        second, third = history.index(user(SECOND)), history.index(user(THIRD))
        return [*history[:second], *history[third:-1], *history[second:third], history[-1]]

    assert {kind for kind, _ in found(change, 6)} == {"turns-swapped"}


def test_an_answer_that_is_gone_behind_its_outputs_is_a_loss() -> None:
    def change(history: list[Json]) -> list[Json]:
        text = "Version two is live, see its notes."
        return [item for item in history if item.get("role") != "assistant" or item["content"][0]["text"] != text]

    assert set(found(change, 4)) == {("answer-dropped", 4), ("reasoning-orphaned", 4)}


def test_reasoning_without_the_calls_that_followed_it_is_a_loss() -> None:
    def change(history: list[Json]) -> list[Json]:
        return [item for item in history if item.get("call_id") not in ("call_1", "call_2")]

    assert set(found(change, 3)) == {("reasoning-orphaned", 3)}


@pytest.mark.parametrize("gone", [None, ""])
def test_instructions_that_are_gone_in_a_loop_of_tools_are_a_loss(gone: str | None) -> None:
    losses = found(lambda history: history, 2, instructions=gone)
    assert set(losses) == {("instructions-dropped", 2)}


def test_instructions_and_tools_that_are_gone_later_may_be_intended() -> None:
    assert found(lambda history: history, 3, instructions=None) == []
    assert ("instructions-omitted", 3) in found(lambda history: history, 3, strict=True, instructions=None)
    assert found(lambda history: history, 5, tools=[]) == []
    assert ("tools-omitted", 5) in found(lambda history: history, 5, strict=True, tools=[])


def test_a_history_may_lose_its_beginning() -> None:
    def shortened(history: list[Json]) -> list[Json]:
        return history[history.index(user(SECOND)) :]

    assert found(shortened, 4) == []
