"""An answer that the client did not take to its end: it may be forgotten, or kept as far as it was shown."""

import pytest

from harness.analysis.loss import DEPLOY, NEXT, NOTIFY, PROMPT, REPLY, TEXT, assistant, losses_of, sketch
from harness.core.exchange import Json, ToolRuns
from harness.items import message
from tests.support.in_process import Client


def ids(client: Client, *left: int) -> list[str]:
    return [lost.loss for lost in losses_of(client.world.exchanges, tool_runs=ToolRuns(left=frozenset(left)))]


@pytest.mark.parametrize("turn", [REPLY, DEPLOY])
@pytest.mark.parametrize("kept", [[], [assistant("")]], ids=["nothing", "no words"])
def test_an_answer_that_the_user_stopped_may_be_forgotten(turn: Json, kept: list[Json]) -> None:
    client = Client()
    client.mock.script(turn)
    client.ask([PROMPT])
    client.ask([PROMPT, *kept, NEXT])
    assert ids(client, 1) == []
    assert ids(client) != []


def test_an_answer_that_the_user_stopped_may_be_kept_as_far_as_it_was_shown() -> None:
    client = Client()
    client.mock.script(REPLY)
    client.ask([PROMPT])
    client.ask([PROMPT, assistant(TEXT[:9]), NEXT])
    assert ids(client, 1) == []
    assert ids(client) == ["text-altered"]


def test_what_is_kept_of_an_answer_is_its_beginning() -> None:
    client = Client()
    client.mock.script(REPLY)
    client.ask([PROMPT])
    client.ask([PROMPT, assistant(TEXT + TEXT), NEXT])
    assert ids(client, 1) == ["text-altered"]


@pytest.mark.parametrize("history", ["P C O", "P A N"])
def test_a_client_that_left_and_sends_a_part_of_the_answer_back_did_not_stop_it(history: str) -> None:
    client = Client()
    client.mock.script([message("I look."), REPLY, DEPLOY, NOTIFY] if "C" in history else [REPLY, DEPLOY])
    client.ask([PROMPT])
    client.ask(sketch(history))
    assert "call-dropped" in ids(client, 1)


def test_a_client_that_left_and_continues_the_response_did_not_stop_it() -> None:
    client = Client()
    client.mock.script(REPLY, message("Yes."))
    first = client.ask([PROMPT]).body["id"]
    client.ask(sketch("P A N"), previous_response_id=first)
    assert ids(client, 1) == ["history-replayed"]
