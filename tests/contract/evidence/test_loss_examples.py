"""Every loss, by its own examples: conversations that show it, and right ones that must not."""

import pytest

from harness.analysis.loss import (
    LOSSES,
    NEXT,
    PROMPT,
    TEXT,
    TOOLS,
    Loss,
    ask,
    assistant,
    chained,
    loss,
    losses_of,
    output,
    user,
)
from harness.analysis.losses import AREAS
from harness.contract.rule import Case, after
from harness.core.errors import RegistrationError
from harness.core.exchange import Json, SentTurn, ToolRuns
from harness.items import web_search_call
from harness.report.catalogue import loss_json, loss_row, loss_sections
from harness.verify.examples import play_case

SETTINGS = ("tools[", "text.format", "reasoning.effort", "instructions", "model", "safety_identifier")
"""Where a loss may be outside the items of a request."""


def sent_before(case: Case) -> ToolRuns:
    """Return what a chat UI has sent the client before the last request of an example."""
    return ToolRuns(turns=[SentTurn(1, case.sent)] if case.sent else [])


@pytest.mark.parametrize("expected", LOSSES.values(), ids=LOSSES)
def test_an_example_shows_its_loss_and_no_other(expected: Loss) -> None:
    for case in expected.loses:
        journal = play_case(case).exchanges
        found = losses_of(journal, expected.strict, sent_before(case))
        assert {lost.loss for lost in found} == {expected.id}, case
        for lost in found:
            assert lost.exchange == len(journal)
            assert case.sent or lost.said in range(1, len(journal))
            assert ("turn 1" if case.sent else f"exchange {lost.said}") in lost.message
            assert "\n" not in lost.message
            assert lost.at.startswith(("input", *SETTINGS))
            # One loss may have several causes, and a fix for each.
            assert lost.fix == expected.fix or expected.area == "withheld"
        places = [lost.at for lost in losses_of(journal, True, sent_before(case))]
        assert len(places) == len({*places}), case


@pytest.mark.parametrize("expected", LOSSES.values(), ids=LOSSES)
def test_a_right_conversation_loses_nothing(expected: Loss) -> None:
    for case in expected.keeps:
        journal = play_case(case).exchanges
        assert losses_of(journal, expected.strict, sent_before(case)) == [], case
        assert journal[-1].status == 200


def test_what_may_be_a_right_habit_is_found_only_on_demand() -> None:
    cases = [case for loss in LOSSES.values() if loss.strict for case in loss.loses]
    assert [case for case in cases if losses_of(play_case(case).exchanges, tool_runs=sent_before(case))] == []


RULES: Json = {"role": "developer", "content": "You run operations."}


@pytest.mark.parametrize(
    ("case", "told"),
    [
        (ask("P > A", "P A N > A3", ["P A", {**NEXT, "role": "developer"}, "A3 N3"]), "prompt-altered"),
        (ask([RULES, "P > C"], [user(RULES["content"]), "P C O"], tools=TOOLS), "instructions-dropped"),
        (ask("P > A2", [user("\n".join(2 * [PROMPT["content"]])), "A2 N"]), "history-replayed"),
        (ask("P > A", chained("P A N")), "history-replayed"),
        (ask("P > A", ["P", assistant(str(assistant(TEXT))), "N"]), "item-coerced"),
        (
            ask(["P > A", web_search_call("v2")], ["P A", user("None"), "N"], tools=[{"type": "web_search"}]),
            "item-coerced",
        ),
        (
            ask(
                "P > C C2",
                ["P C C2 O", output("call_2", "told"), "> A"],
                ["P C C2 O", output("call_2", "v2 is live"), "A N"],
            ),
            "output-replaced",
        ),
    ],
)
def test_one_fault_is_one_loss_although_what_may_be_intended_is_found_too(case: Case, told: str) -> None:
    assert [lost.loss for lost in losses_of(play_case(case).exchanges, strict=True)] == [told]


def test_what_says_more_about_a_fault_is_a_loss() -> None:
    assert {other for kind in LOSSES.values() for other in kind.unless} <= LOSSES.keys()
    assert not [kind.id for kind in LOSSES.values() if kind.unless and not kind.strict]


def test_examples_are_whole_conversations() -> None:
    for kind in LOSSES.values():
        assert all(case.before for case in (*kind.loses, *kind.keeps)), kind.id


def test_the_losses_that_are_known() -> None:
    assert {loss.id for loss in LOSSES.values() if not loss.strict} == {
        *("citation-dropped", "citation-doubled", "citation-flattened", "citation-moved", "history-replayed"),
        *("item-coerced", "call-dropped", "call-altered", "output-altered", "output-invented", "output-twice"),
        *("output-printed", "answer-dropped", "prompt-doubled", "prompt-dropped", "prompt-altered", "role-changed"),
        *("text-altered", "reasoning-dropped", "reasoning-orphaned", "reasoning-spoken", "phase-dropped"),
        *("reasoning-withheld", "attachment-altered"),
        *("order-changed", "partial-taken", "attachment-dropped", "instructions-dropped"),
        *(
            "refusal-spoken",
            "compaction-dropped",
            "turns-swapped",
            "citation-misplaced",
            "reasoning-altered",
            "sent-changed",
            "item-dropped",
            "format-dropped",
            "settings-dropped",
            "tools-doubled",
        ),
    }
    assert {loss.area for loss in LOSSES.values()} == set(AREAS)


def test_a_loss_is_reported_as_a_row_a_page_and_json() -> None:
    one = LOSSES["call-dropped"]
    assert loss_row(one) == {"id": "call-dropped", "area": "calls", "when": "always", "summary": one.summary}
    assert [title for title, lines in loss_sections(one) if lines] == ["Message", "Fix", "Lost", "Kept"]
    members = loss_json(one)
    assert (len(members["loses"]), len(members["keeps"])) == (len(one.loses), len(one.keeps))
    assert members["loses"][0]["before"][0]["input"] == [{"role": "user", "content": "Ship v2, please."}]
    assert loss_row(LOSSES["text-edited"])["when"] == "strict"


def check(request, past):
    """Yield a loss."""
    yield {}


def plain(request, past):
    """No generator."""
    return []


def bare(request, past):
    yield {}


EXAMPLE = after({}, {})
WORDS = {"message": "Lost.", "fix": "Keep it.", "loses": [EXAMPLE], "keeps": [EXAMPLE]}


@pytest.mark.parametrize(
    ("declared", "name", "words", "problem"),
    [
        (check, "call_dropped", {}, "loss call-dropped in .* is declared twice"),
        (plain, "new_loss", {}, "is not a generator"),
        (bare, "new_loss", {}, "has no docstring"),
        (check, "new_loss", {"keeps": []}, "needs examples of both kinds"),
        (check, "new_loss", {"loses": []}, "needs examples of both kinds"),
    ],
)
def test_a_loss_declared_wrongly_fails_when_it_is_registered(declared, name, words, problem, monkeypatch) -> None:
    monkeypatch.setattr(declared, "__name__", name)
    with pytest.raises(RegistrationError, match=problem):
        loss(**{**WORDS, **words})(declared)
