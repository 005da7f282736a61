"""What a client sends is compared wherever it is written: as input, into a conversation, into a compaction."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.analysis.losses.examples import DEPLOY, NEXT, PROMPT, REPLY, TEXT, assistant, call, output, user
from harness.core.exchange import Json
from harness.items import function_call, message, url_citation
from tests.support.in_process import Client

Write = Callable[[Client, list[Json]], None]
CITED = message(TEXT, annotations=[url_citation("https://example.org/v2", "v2")])


def as_input(client: Client, history: list[Json]) -> None:
    client.ask(history)


def into_a_new_conversation(client: Client, history: list[Json]) -> None:
    id = client.send("POST /conversations", {"items": history[:-1]}).body["id"]
    client.ask(history[-1:], conversation=id)


def into_a_conversation(client: Client, history: list[Json]) -> None:
    id = client.send("POST /conversations", {}).body["id"]
    client.send(f"POST /conversations/{id}/items", {"items": history})


def piece_by_piece(client: Client, history: list[Json]) -> None:
    id = client.send("POST /conversations", {"items": history[:1]}).body["id"]
    for item in history[1:-1]:
        client.send(f"POST /conversations/{id}/items", {"items": [item]})
    client.ask(history[-1:], conversation=id)


def into_a_compaction(client: Client, history: list[Json]) -> None:
    client.send("POST /responses/compact", {"model": "gpt-4.1", "input": history})


def with_an_empty_conversation(client: Client, history: list[Json]) -> None:
    client.ask(history, conversation=client.send("POST /conversations", {}).body["id"])


WAYS = [
    as_input,
    into_a_new_conversation,
    into_a_conversation,
    piece_by_piece,
    into_a_compaction,
    with_an_empty_conversation,
]


def losses(write: Write, history: list[Json], *turns: object) -> list[str]:
    client = Client()
    client.mock.script(*turns)
    client.ask([PROMPT])
    if len(turns) > 1:
        client.ask([PROMPT, call(), output()])
    write(client, history)
    return [lost.loss for lost in client.mock.losses]


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize(
    ("history", "turns", "loss"),
    [
        ([PROMPT, assistant(TEXT[:20]), NEXT], [REPLY], "text-altered"),
        ([PROMPT, user(TEXT), NEXT], [REPLY], "role-changed"),
        ([PROMPT, assistant(TEXT), PROMPT, assistant(TEXT), NEXT], [REPLY], "history-replayed"),
        ([PROMPT, assistant(TEXT), NEXT], [CITED], "citation-dropped"),
        ([PROMPT, user(""), user(""), assistant(TEXT), NEXT], [DEPLOY, REPLY], "item-coerced"),
        ([PROMPT, call(arguments='{"ref":"v3"}'), output(), assistant(TEXT), NEXT], [DEPLOY, REPLY], "call-altered"),
        ([PROMPT, call(), output(value=""), assistant(TEXT), NEXT], [DEPLOY, REPLY], "output-altered"),
        ([PROMPT, NEXT], [REPLY], "answer-dropped"),
        ([user(" "), assistant(TEXT), NEXT], [REPLY], "prompt-dropped"),
        ([user("Ship v2, please, and v3"), assistant(TEXT), NEXT], [REPLY], "prompt-altered"),
        ([PROMPT, assistant(str([TEXT])), NEXT], [REPLY], "text-altered"),
        ([PROMPT, call(), output(), NEXT], [DEPLOY, REPLY], "answer-dropped"),
    ],
)
def test_a_broken_history_is_a_loss_wherever_it_is_written(
    write: Write, history: list[Json], turns: list[object], loss: str
) -> None:
    assert losses(write, history, *turns) == [loss]


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize(
    ("history", "turns"),
    [
        ([PROMPT, assistant(TEXT), NEXT], [REPLY]),
        ([PROMPT, call(), output(), assistant(TEXT), NEXT], [DEPLOY, REPLY]),
        ([assistant(TEXT), NEXT], [REPLY]),
        (
            [PROMPT, call(), call("call_2"), output(), output("call_2"), NEXT],
            [[DEPLOY, function_call("deploy", {"ref": "v2"}, call_id="call_2", off_schema=True)]],
        ),
    ],
)
def test_a_whole_history_has_lost_nothing(write: Write, history: list[Json], turns: list[object]) -> None:
    assert losses(write, history, *turns) == []


def test_a_loss_is_placed_where_it_was_written() -> None:
    client = Client()
    client.mock.script(CITED)
    client.ask([PROMPT])
    id = client.send("POST /conversations", {"items": [PROMPT]}).body["id"]
    client.send(f"POST /conversations/{id}/items", {"items": [assistant(TEXT)]})
    client.ask([NEXT], conversation=id)
    (lost,) = client.mock.losses
    assert (lost.exchange, lost.at, lost.said) == (3, "items[0].content[0]", 1)


def test_what_is_gone_between_what_was_written_and_the_input_is_placed_in_the_input() -> None:
    client = Client()
    client.mock.script(REPLY)
    client.ask([PROMPT])
    id = client.send("POST /conversations", {"items": [PROMPT]}).body["id"]
    client.ask([NEXT], conversation=id)
    assert [(lost.loss, lost.exchange, lost.at) for lost in client.mock.losses] == [("answer-dropped", 3, "input[0]")]


def test_the_words_that_another_agent_writes_into_a_conversation_are_its_affair() -> None:
    client = Client()
    client.mock.script(REPLY, message("Done."))
    client.ask([PROMPT], instructions="You plan.")
    client.ask([PROMPT], instructions="You review.")
    client.send("POST /conversations", {"items": [PROMPT, user(TEXT), NEXT]})
    assert client.mock.losses == []
