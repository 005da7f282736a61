"""Losses that hide well: citations of edited messages, and what the search for losses costs."""

import sys
from typing import Any

import pytest

from harness.analysis.loss import NEXT, PROMPT, TOOLS, assistant, call, losses_of, output, sketch, user
from harness.core.exchange import Exchange, Json, SentTurn, ToolRuns
from harness.items import function_call, message, url_citation
from harness.world.mock import Mock
from tests.support.in_process import Client
from tests.support.slow import slow_except


@pytest.fixture
def client() -> Client:
    return Client()


def ids(world: Mock) -> list[str]:
    return [lost.loss for lost in losses_of(world.exchanges)]


GUIDE = url_citation("https://example.org/leave", "Leave")
ADVICE = "Ask your manager two weeks before you leave."

JOINED = (
    "Here is what the guide of the company says about it, after a long look into it: {}",
    "{} That is all that I have found in the guide of the company, and in the handbook.",
    "I have looked it up for you in the handbook. {} Is there anything else that you want?",
)


def annotated(text: str, start: int) -> list[Json]:
    """Return a text with the guide as its source from there on."""
    notes = [{**GUIDE, "start_index": start, "end_index": start + 3}]
    return [{"type": "output_text", "text": text, "annotations": notes}]


class TestACitationOfAnEditedMessage:
    """The text of a message is put together anew, say by a group of agents: its citations are lost all the same."""

    def sent_back(self, client: Client, text: str, said: str = ADVICE, **members: Any) -> list[tuple[str, str]]:
        client.mock.script(message(said, annotations=[GUIDE]))
        client.ask([user("How do I take leave?")], instructions="You are the researcher.", stream=True)
        history = [user("How do I take leave?"), {**assistant(text), **members}]
        client.ask(history, instructions="You are the writer.", stream=True)
        return [(lost.loss, lost.message) for lost in client.mock.losses]

    def kinds(self, client: Client, text: str, said: str = ADVICE, **members: Any) -> list[str]:
        return [loss for loss, _ in self.sent_back(client, text, said, **members)]

    def test_a_citation_lost_with_an_edit_is_reported_with_the_edit(self, client: Client) -> None:
        assert self.sent_back(client, "Ask your manager two weeks before you leave .") == [
            (
                "citation-dropped",
                f'1 of 1 annotations of the message "{ADVICE[:39]}…" from exchange 1 are missing, and its text was '
                'edited from "re you leave." to "re you leave .": the client dropped them',
            )
        ]

    @pytest.mark.parametrize(
        ("text", "said", "found"),
        [
            ("Ask your boss two weeks before you leave.", ADVICE, ["citation-dropped"]),
            ("Yes .", "Yes.", ["citation-dropped"]),
            (ADVICE * 2, ADVICE, ["text-altered", "citation-dropped"]),
            *((ADVICE[:cut], ADVICE, ["text-altered", "citation-dropped"]) for cut in (3, 20, 40)),
            ("Two weeks ahead, says the guide.", ADVICE, []),
            ("Ask your manager about the printer on the second floor, and tell me.", ADVICE, []),
            ("No.", ADVICE, []),
            ("Ask your manager…", ADVICE, []),
            (ADVICE, f"{ADVICE}【4:0†leave.txt】", []),
        ],
    )
    def test_a_citation_of_an_edited_or_cut_text_is_lost_and_not_of_other_words(
        self, client: Client, text: str, said: str, found: list[str]
    ) -> None:
        assert self.kinds(client, text, said) == found

    @pytest.mark.parametrize("cut", [3, 20, 40])
    def test_a_citation_of_an_edited_message_is_lost_with_the_end_of_a_plain_text(
        self, client: Client, cut: int
    ) -> None:
        assert self.kinds(client, "", content=ADVICE[:cut]) == ["text-altered", "citation-flattened"]

    def test_a_citation_of_an_edited_message_is_found_by_the_id_of_the_message(self, client: Client) -> None:
        client.mock.script(message(ADVICE, annotations=[GUIDE]))
        id = client.ask([PROMPT]).body["output"][0]["id"]
        client.ask(sketch("P", assistant(ADVICE.replace(" two", " four"), id=id), "N"))
        assert ids(client.world) == ["citation-dropped"]

    def test_a_citation_of_a_text_that_comes_back_cut_is_reported(self, client: Client) -> None:
        _, (_, told) = self.sent_back(client, ADVICE[:40])
        assert told.endswith("are missing, and its text came back cut off: the client dropped them")

    def test_a_citation_of_an_edited_message_is_kept_with_the_edited_text(self, client: Client) -> None:
        assert self.kinds(client, "", content=annotated(ADVICE + " !", 0)) == []

    @pytest.mark.parametrize("joined", JOINED)
    def test_a_citation_of_an_edited_message_is_lost_though_further_text_is_joined_to_it(
        self, client: Client, joined: str
    ) -> None:
        ((loss, told),) = self.sent_back(client, joined.format(ADVICE))
        assert loss == "citation-dropped"
        assert told.endswith("are missing, and other text was joined to it: the client dropped them")
        assert self.kinds(Client(), "", content=joined.format(ADVICE)) == ["citation-flattened"]

    @pytest.mark.parametrize("joined", JOINED)
    def test_a_citation_is_kept_where_the_joined_text_has_it_or_names_its_source(
        self, client: Client, joined: str
    ) -> None:
        content = annotated(joined.format(ADVICE), joined.index("{}"))
        assert self.kinds(client, "", content=content) == []
        assert self.kinds(Client(), joined.format(ADVICE) + " Source: https://example.org/leave") == []

    def test_a_citation_of_one_of_several_messages_that_are_joined_is_lost(self, client: Client) -> None:
        paid = message("You are paid meanwhile.", annotations=[url_citation("https://example.org/pay", "Pay")])
        client.mock.script([message(ADVICE, annotations=[GUIDE]), paid])
        client.ask([PROMPT])
        joined = annotated(f"{ADVICE}\n\nYou are paid meanwhile.", 0)
        client.ask(sketch("P", assistant("", content=joined), "N"))
        (lost,) = client.mock.losses
        assert (lost.loss, "You are paid" in lost.message) == ("citation-dropped", True)

    def test_a_citation_of_an_edited_message_is_not_lost_in_a_printed_transcript(self, client: Client) -> None:
        client.mock.script(message(ADVICE, annotations=[GUIDE]))
        client.ask([PROMPT])
        client.ask([assistant(f"The user said: {PROMPT['content']}\nThe assistant said: {ADVICE}"), NEXT])
        assert ids(client.world) == []


class TestTheCost:
    """Of a replayed history: it is its length that counts, whatever is said in it."""

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", slow_except([0], ["unique", "the same", "cited", "edited", "calls", "doubled"]))
    def test_grows_with_the_bytes_of_the_requests(self, kind: str) -> None:
        few, many = (count_steps(long_talk(turns, kind)) for turns in (10, 40))
        assert many < 1.6 * 16 * few, f"{few} calls of functions for 10 turns, {many} for 40"

    @pytest.mark.parametrize("kind", ["phased", "unanswered", "chained"])
    def test_of_a_request_does_not_grow_with_the_journal(self, kind: str) -> None:
        few, many = (count_steps(many_talks(turns, kind)) for turns in (10, 40))
        assert many < 5 * few, f"{few} calls of functions for 10 requests, {many} for 40"

    def test_the_cost_at_most_doubles_with_what_a_chat_ui_sent(self) -> None:
        exchanges = long_talk(16, "unique")
        turns = [SentTurn(exchange.number, exchange.request.body["input"]) for exchange in exchanges]
        without, compared = count_steps(exchanges), count_steps(exchanges, ToolRuns(turns=turns))
        assert compared < 2 * without, f"{without} calls of functions without the chat, {compared} with it"


def long_talk(turns: int, kind: str) -> list[Exchange]:
    client, history = Client(), list[Json]()
    for turn in range(turns):
        text = "Done." if kind == "the same" else f"Step {turn} of the release is done, as planned."
        notes = [GUIDE] if kind in ("cited", "edited") else []
        said = [message(text, annotations=notes)]
        client.mock.script(
            [*said, function_call("deploy", "{}", call_id="call_1", off_schema=True)] if kind == "calls" else said
        )
        history.append(user("Go on." if kind == "the same" else f"Go on with step {turn}."))
        client.ask(history, tools=TOOLS)
        history.append(assistant(text.replace("planned", "plannde") if kind == "edited" else text))
        if kind == "calls":
            history += [call(arguments="{}"), output(value=f"v{turn}")]
        if kind == "doubled":
            history += history[-2:-1]
    return client.world.exchanges


def many_talks(turns: int, kind: str) -> list[Exchange]:
    """Return a journal of short requests: each asks something else, or answers the call before it."""
    client, last = Client(), ""
    for turn in range(turns):
        phases = [
            message(f"Step {turn} of it{sign}", phase=phase)
            for sign, phase in ((".", "commentary"), ("!", "final_answer"))
        ]
        call_made = function_call("deploy", {"step": turn}, call_id=f"call_{turn}", off_schema=True)
        client.mock.script(phases if kind == "phased" else call_made)
        sent = [output(f"call_{turn - 1}", f"v{turn}")] if last else [user(f"Do step {turn}."), *sketch("A3 N")]
        chain = {"previous_response_id": last} if last else {}
        answer = client.ask(sent, tools=TOOLS, **chain)
        last = answer.body["id"] if kind == "chained" else ""
    return client.world.exchanges


def count_steps(exchanges: list[Exchange], tool_runs: ToolRuns | None = None) -> int:
    """How many functions are called to find the losses of a journal."""
    steps = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        losses_of(exchanges, strict=True, tool_runs=tool_runs)
    finally:
        sys.setprofile(before)
    return steps
