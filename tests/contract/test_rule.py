"""What a rule is: declared once, with words, evidence and examples, or refused when it is imported."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from harness.contract.rule import (
    RULES,
    Case,
    Rule,
    RuleScope,
    Source,
    after,
    assumed,
    documented,
    recorded,
    reported,
    rule,
)
from harness.contract.rules import sort_rules
from harness.core.errors import ApiError, RegistrationError

pytestmark = pytest.mark.usefixtures("registry")

ERROR = ApiError(400, "No {thing}.", "{place}", "none_{thing}")
EXAMPLE = {"No cheese.": {"input": "cheese?"}}
SEEN = reported("https://example.com/1", "2026-01-31")


def cheese(request: Any, world: Any) -> Iterator[dict[str, Any]]:
    """There must be cheese.

    The last of it counts.
    """
    yield {"thing": "cheese", "place": "input[0]"}


def is_hungry(request: Any) -> bool:
    """Who is hungry gets nothing."""
    return bool(request == "hungry")


def holes() -> None:
    """Cheese has holes.

    Many.
    """


def declare(error: ApiError = ERROR, sources: Sequence[Source] = (SEEN,), **words: Any) -> Any:
    return rule(error, *sources, **{"rejects": EXAMPLE, **words})


def declared(**words: Any) -> Rule:
    declare(**words)(cheese)
    return RULES["cheese"]


class TestADeclaration:
    def test_a_declaration_gets_its_name_area_and_documentation_from_the_function(self) -> None:
        made = declared()
        assert (made.id, made.area, made.summary) == ("cheese", "test_rule", "There must be cheese.")
        assert made.doc == "There must be cheese.\n\nThe last of it counts."
        assert (made.needs, made.check, made.keyword) == (("request", "world"), cheese, None)

    @pytest.mark.parametrize(
        ("named", "on"),
        [({}, ("POST /responses",)), ({"on": "*"}, ("*",)), ({"on": ["GET /a", "GET /b"]}, ("GET /a", "GET /b"))],
    )
    def test_a_declaration_is_about_create_unless_it_names_others(
        self, named: dict[str, Any], on: tuple[str, ...]
    ) -> None:
        assert declared(**named).on == on

    def test_what_all_rules_of_a_module_declare_is_its_scope(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scope = RuleScope(area="food", on="GET /a", dialects="foundry", when="a", mentions="b", reads="c")
        monkeypatch.setattr(sys.modules[__name__], "SCOPE", scope, raising=False)
        made = declared(on="GET /b")
        assert (made.area, made.on, made.dialects) == ("food", ("GET /b",), ("foundry",))
        assert (made.when, made.mentions, made.reads) == (("a",), ("b",), {"a", "c"})

    def test_a_declaration_has_its_sources_in_their_order(self) -> None:
        assert declared(sources=[SEEN, assumed("the words")]).sources == (SEEN, assumed("the words"))

    def test_a_rule_without_placeholders_says_whether_a_request_violates_it(self) -> None:
        declare(error=ApiError(400, "No cheese."), rejects=[{"input": "cheese?"}])(is_hungry)
        assert RULES["is_hungry"].check is is_hungry

    def test_a_declaration_gives_the_function_back(self) -> None:
        assert declare()(cheese) is cheese

    def test_a_declaration_needs_no_words_beside_the_example_of_a_constant_message(self) -> None:
        made = declared(error=ApiError(400, "No cheese."), rejects=[{"input": "cheese?"}])
        assert made.rejects == {"No cheese.": Case({"input": "cheese?"})}

    def test_a_declaration_makes_cases_of_its_examples(self) -> None:
        whole = Case({}, headers={})
        made = declared(
            rejects={**EXAMPLE, "No ham.": whole}, accepts=[{"input": "ham"}, [{"type": "ham"}], "GET /ham"]
        )
        assert made.rejects == {"No cheese.": Case({"input": "cheese?"}), "No ham.": whole}
        assert made.accepts == (Case({"input": "ham"}), Case({"input": [{"type": "ham"}]}), Case(on="GET /ham"))

    @pytest.mark.parametrize(
        ("message", "given", "words"),
        [
            ("No {thing}.", "cheese", "No cheese."),
            ("No {thing}.", "No cheese.", "No cheese."),
            ("No {thing} or {other}, no {thing}.", ("cheese", "ham"), "No cheese or ham, no cheese."),
            ("No {thing} or {other}.", "No cheese or ham.", "No cheese or ham."),
        ],
    )
    def test_the_words_of_an_example_are_whole_or_what_fills_the_message(
        self, message: str, given: str | tuple[str, ...], words: str
    ) -> None:
        assert [*declared(error=ApiError(400, message), rejects={given: {}}).rejects] == [words]

    @pytest.mark.parametrize(("named", "keyword"), [({"keyword": "holes"}, "holes"), ({}, "x-rule")])
    def test_a_declaration_of_words_for_a_keyword_or_for_a_schema_has_no_function(
        self, named: dict[str, str], keyword: str
    ) -> None:
        declare(**named)(holes)
        made = RULES["holes"]
        assert (made.check, made.keyword, made.area) == (None, keyword, "test_rule")
        assert made.doc == "Cheese has holes.\n\nMany."

    def test_an_area_has_a_place_of_precedence(self) -> None:
        declare()(cheese)
        with pytest.raises(RegistrationError, match="rules of test_rule: add the area to AREAS"):
            sort_rules()


class TestARefusal:
    def test_a_refusal_may_have_facts_that_resemble_fields(self) -> None:
        assert declared().error.fill({"thing": "{x}", "place": "{"}).message == "No {x}."

    def test_a_refusal_without_its_facts_is_an_error(self) -> None:
        with pytest.raises(KeyError):
            declared().error.fill({"place": "x"})


def test_evidence_counts_at_its_best_level() -> None:
    sources = [assumed("a guess"), documented("a page"), recorded("a cassette"), SEEN]
    assert declared(sources=sources).level == "recorded"
    assert [source.level for source in sources] == ["assumed", "documented", "recorded", "reported"]


def test_an_example_after_others_is_the_last_of_them() -> None:
    case = after({"input": "a"}, Case({"input": "b"}, absent=("model",)), {"input": "c"}, turns=["x", "y"])
    assert case.body == {"input": "c"}
    assert case.before == (Case({"input": "a"}), Case({"input": "b"}, absent=("model",)))
    assert case.turns == ("x", "y")


def bare(request: Any) -> Iterator[dict[str, Any]]:
    yield {}


WRONG_CHECKS = (lambda request: [], lambda world, request: (yield {}), lambda request, other: (yield {}))


@pytest.mark.parametrize(
    ("problem", "check", "words"),
    [
        ("rule cheese in .*test_rule is declared twice", cheese, {}),
        ("rule bare in .* has no docstring", bare, {}),
        ("has no source", cheese, {"sources": []}),
        ("write rejects=", cheese, {"error": ApiError(400, "No cheese."), "rejects": [{"input": "cheese?"}] * 2}),
        ("write rejects=", cheese, {"error": ApiError(400, "No {thing}."), "rejects": [{"input": "cheese?"}]}),
        ("must fill thing", cheese, {"rejects": {("cheese", "ham"): {}}}),
        ("has no example: add rejects=", cheese, {"rejects": {}}),
        ("begins on 2999-01, after the day of the contract: move CONTRACT_DATE", cheese, {"since": "2999-01"}),
        *(
            (
                "write a generator, or a function that returns a bool, taking some of request, world, transcript",
                check,
                {},
            )
            for check in WRONG_CHECKS
        ),
    ],
)
def test_a_wrong_declaration_is_refused_and_leaves_nothing_behind(
    problem: str, check: Any, words: dict[str, Any]
) -> None:
    if "twice" in problem:
        declared()
    before = dict(RULES)
    with pytest.raises(RegistrationError, match=problem):
        declare(**words)(check)
    assert before == RULES
