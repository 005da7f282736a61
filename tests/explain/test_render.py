"""The block that says why a test fails: at most 12 lines of 120 columns, for every kind of failure."""

from dataclasses import replace

import pytest

import harness.server.mock_api  # noqa: F401  (registers the rules)
from harness.contract.rule import RULES, Case, Rule
from harness.core.advice_wording import JAVASCRIPT, JSON, PYTHON, PYTHON_FILE, Vocabulary
from harness.explain.cause import Cause
from harness.explain.refusal import refusal_cause
from harness.explain.render import CAUSE_WIDTH, MAX_CAUSE_LINES, NO_LIMIT, render_cause, render_causes
from harness.verify.examples import play_case
from harness.world.world import World


def assert_fits(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) <= MAX_CAUSE_LINES
    assert max(map(len, lines)) <= CAUSE_WIDTH


def test_every_refusal_says_what_where_how_to_fix_it_and_how_we_know() -> None:
    for rule in RULES.values():
        for case in rule.rejects.values():
            assert_says_all(rule, case)


def assert_says_all(rule: Rule, case: Case) -> None:
    played = play_case(case)
    exchanges = played.exchanges
    if not exchanges or exchanges[-1].answer != played.answer:  # a key without a World has no journal
        exchanges = [play_case(Case()).exchanges[0]._replace(answer=played.answer)]
    cause = refusal_cause(exchanges[-1], exchanges, [], World())
    told = render_cause(cause)
    assert_fits(told)
    what, *rows = told.splitlines()
    assert what.startswith(f"Request {exchanges[-1].number} was refused ({played.answer.status}): ")
    assert {row.split()[0] for row in rows if row[:2] == "  " and row[2] != " "} - {"sent"} == {
        "where",
        "fix",
        "manual",
    }
    assert f"  source  {rule.id}: " in render_cause(cause, NO_LIMIT)


def test_a_row_that_is_too_long_is_cut_and_leaves_the_others_their_lines() -> None:
    cause = Cause("what " * 200, where="place " * 500, sent="x " * 500, fix="mend " * 500, expect="s")
    told = render_cause(cause)
    assert_fits(told)
    assert [line.split()[0] for line in told.splitlines() if line[0] != " "] == ["what", "what", "what"]
    assert told.splitlines()[-1] == "  expect  s"
    assert told.count("…") == 4


def test_a_row_of_several_lines_keeps_them() -> None:
    cause = Cause("It differs.", where="- tools wanted: 'a'\n+ tools was:    []", fix="Add it.", allow="")
    assert render_cause(cause).splitlines() == [
        "It differs.",
        "  where   - tools wanted: 'a'",
        "          + tools was:    []",
        "  fix     Add it.",
    ]
    assert_fits(render_cause(replace(cause, where="line\n" * 50)))


def test_a_cause_with_many_rows_still_fits() -> None:
    long = "words " * 400
    assert_fits(render_cause(Cause("It is.", where=long, came=long, why=long, fix=long, allow=long, source=long)))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Cause("KeyError: 'a'"), Cause("KeyError: 'b'"), False),
        (Cause("KeyError: 'a'", fix="Mend it."), Cause("KeyError: 'b'", fix="Mend it."), True),
        (Cause("One."), Cause("One.", kind="stray"), False),
        (Cause("Deploy v1.", kind="migration", fix="Move."), Cause("Deploy v2.", kind="migration", fix="Move."), False),
    ],
)
def test_causes_with_the_same_fix_are_a_group(one: Cause, other: Cause, same: bool) -> None:
    assert (one.group == other.group) is same


def test_further_causes_are_a_line_each() -> None:
    causes = [Cause(f"Cause {number} {'x' * 200}", fix="Mend it.") for number in range(9)]
    first, fix, more, *others = render_causes(causes, PYTHON).splitlines()[1:]
    assert (first.strip()[:1], fix, more) == ("x", "  fix     Mend it.", "and 8 more; -v shows them:")
    assert [line[:9] for line in others] == [*(f"  Cause {number}" for number in range(1, 6)), "  … 3 others"[:9]]
    assert render_causes([], PYTHON) == ""


@pytest.mark.parametrize(
    ("vocabulary", "shows"),
    [(PYTHON, "-v"), *((reader, "GET /_harness/report?verbose=true") for reader in (PYTHON_FILE, JSON, JAVASCRIPT))],
)
def test_the_others_are_shown_by_what_the_reader_has(vocabulary: Vocabulary, shows: str) -> None:
    told = render_causes([Cause("One."), Cause("Two.")], vocabulary)
    assert told.splitlines()[1:] == [f"and 1 more; {shows} shows them:", "  Two."]
