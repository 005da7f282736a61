"""What is found in a test's exchanges, and what of it was expected."""

from __future__ import annotations

import pytest

from harness.contract.rule import RULES
from harness.explain.findings import MAX_TRACED
from harness.explain.refusal import is_account_rule
from harness.faults import rate_limit
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.world import World
from tests.support.reports import KEY, ask, fill_case, make_mock

NOTES = [{"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}]


def lossy() -> World:
    mock = make_mock([message("See page 3.", annotations=NOTES)])
    first = ask(mock, "Report?")
    (item,) = first["output"]
    bare = {**item, "content": [{**item["content"][0], "annotations": []}]}
    user = {"role": "user", "content": "Report?"}
    ask(mock, [user, bare, {"role": "user", "content": "Which page?"}])
    return mock.worlds[KEY]


def test_a_refusal_names_its_rule_its_place_and_its_fix() -> None:
    mock = make_mock()
    ask(mock, "hi", bogus=1)
    (found,) = fill_case(mock.worlds[KEY], "failed").found
    assert (found.kind, found.expected, found.id, found.exchange, found.at) == (
        "refusal",
        False,
        "unknown_parameter",
        1,
        "bogus",
    )
    assert found.message == "400 Unknown parameter: 'bogus'."
    assert found.why.startswith("bogus = 1")
    assert (found.fix, found.title) == (RULES["unknown_parameter"].fix, "refusal unknown_parameter")
    assert found.text.splitlines()[0] == "400 Unknown parameter: 'bogus'. (exchange 1, bogus)"


@pytest.mark.parametrize("outcome", ["passed", "xfailed", "xpassed"])
def test_what_a_test_that_passed_shows_was_expected(outcome: str) -> None:
    mock = make_mock()
    ask(mock, "hi", bogus=1)
    (found,) = fill_case(mock.worlds[KEY], outcome).found
    assert (found.expected, found.why) == (True, "")


def test_a_refusal_that_the_test_made_happen_was_expected_even_if_it_failed() -> None:
    mock = make_mock()
    mock.open(KEY).script(rate_limit(after="1s"))
    ask(mock, "hi")
    (found,) = fill_case(mock.worlds[KEY], "failed").found
    assert (found.message[:3], found.expected) == ("429", True)


def test_what_an_account_was_set_up_to_refuse_is_expected() -> None:
    assert is_account_rule("rate_limit")
    assert not is_account_rule("unknown_parameter")
    assert not is_account_rule("no_rule")


def test_a_loss_says_where_the_original_was_said() -> None:
    (found,) = fill_case(lossy(), "failed").found
    assert (found.kind, found.id, found.exchange, found.why) == (
        "loss",
        "citation-dropped",
        2,
        "original in exchange 1",
    )
    assert not found.expected


def test_a_loss_that_the_marker_allows_was_expected() -> None:
    (found,) = fill_case(lossy(), "failed", "citation-dropped").found
    assert found.expected


def test_a_test_that_no_loss_fails_has_it_to_mend_unless_its_marker_allows_it() -> None:
    (found,), (allowed,) = (
        fill_case(lossy(), "passed", *ids, judged=False).found for ids in ((), ("citation-dropped",))
    )
    assert (found.kind, found.expected, allowed.expected) == ("loss", False, True)


def test_a_loss_that_the_api_told_the_client_was_expected_all_the_same() -> None:
    mock = make_mock([message("See page 3.", annotations=NOTES)])
    (item,) = ask(mock, "Report?")["output"]
    bare = {**item, "content": [{**item["content"][0], "annotations": []}]}
    user = {"role": "user", "content": "Report?"}
    ask(mock, [user, bare, user], bogus=1)
    kinds = [(finding.kind, finding.expected) for finding in fill_case(mock.worlds[KEY], judged=False).found]
    assert sorted(kinds) == [("loss", True), ("refusal", True)]


def test_a_request_without_a_turn_is_found() -> None:
    mock = MockApi()
    mock.open(KEY)
    ask(mock, "hi")
    (found,) = fill_case(mock.worlds[KEY], "failed").found
    assert (found.kind, found.exchange, found.place) == ("unanswered", 1, "exchange 1")
    assert found.message.startswith("No turn is left for this request")


@pytest.mark.parametrize(("allowed", "expected"), [((), False), (("unused",), True)])
def test_a_turn_that_no_request_took_is_found(allowed: tuple[str, ...], expected: bool) -> None:
    mock = make_mock()
    mock.open(KEY).script(message("hi"))
    (found,) = fill_case(mock.worlds[KEY], "failed", *allowed).found
    assert (found.kind, found.expected, found.message, found.place) == (
        "unused",
        expected,
        'script: message "hi"',
        "the script",
    )


def test_what_is_found_comes_in_the_order_of_the_exchanges() -> None:
    mock = make_mock([message("See page 3.", annotations=NOTES)])
    ask(mock, "hi", bogus=1)
    (item,) = ask(mock, "Report?")["output"]
    bare = {**item, "content": [{**item["content"][0], "annotations": []}]}
    ask(mock, [{"role": "user", "content": "Report?"}, bare, {"role": "user", "content": "a"}])
    ask(mock, "hi", bogus=1)
    assert [finding.exchange for finding in fill_case(mock.worlds[KEY], "failed").found] == [1, 3, 4]


def test_only_the_newest_refusals_are_traced() -> None:
    mock = make_mock()
    for _ in range(MAX_TRACED + 2):
        ask(mock, "hi", bogus=1)
    whys = [bool(finding.why) for finding in fill_case(mock.worlds[KEY], "failed").found]
    assert whys == [False] * 2 + [True] * MAX_TRACED
