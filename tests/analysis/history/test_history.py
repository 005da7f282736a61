"""What a client sends is compared wherever it is written: as input, into a conversation, into a compaction."""

from collections.abc import Callable

import pytest

from harness.analysis.loss import DEPLOY, NEXT, PROMPT, REPLY, TEXT, assistant, call, output, sketch, user
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
        client.ask(sketch("P C O"))
    write(client, history)
    return [lost.loss for lost in client.mock.losses]


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize(
    ("history", "turns", "loss"),
    [
        (sketch("P", assistant(TEXT[:20]), "N"), [REPLY], "text-altered"),
        (sketch("P", user(TEXT), "N"), [REPLY], "role-changed"),
        (sketch("P A P A N"), [REPLY], "history-replayed"),
        (sketch("P A N"), [CITED], "citation-dropped"),
        ([PROMPT, user(""), user(""), assistant(TEXT), NEXT], [DEPLOY, REPLY], "item-coerced"),
        (sketch("P", call(arguments='{"ref":"v3"}'), "O A N"), [DEPLOY, REPLY], "call-altered"),
        (sketch("P C", output(value=""), "A N"), [DEPLOY, REPLY], "output-altered"),
        (sketch("P N"), [REPLY], "answer-dropped"),
        (sketch(user(" "), "A N"), [REPLY], "prompt-dropped"),
        (sketch(user("Ship v2, please, and v3"), "A N"), [REPLY], "prompt-altered"),
        (sketch("P", assistant(str([TEXT])), "N"), [REPLY], "text-altered"),
        (sketch("P C O N"), [DEPLOY, REPLY], "answer-dropped"),
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
        (sketch("P A N"), [REPLY]),
        (sketch("P C O A N"), [DEPLOY, REPLY]),
        (sketch("A N"), [REPLY]),
        (
            sketch("P C", call("call_2"), "O O2 N"),
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
    client.send("POST /conversations", {"items": sketch("P", user(TEXT), "N")})
    assert client.mock.losses == []
