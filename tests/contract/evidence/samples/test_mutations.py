"""A right request with one thing wrong: taken, or refused in the API's words at the place that is wrong; never a crash.

The test command tries the same few hundred examples each time, `-m slow` others each day. A hundred times as many, others
in every run:

    HYPOTHESIS_PROFILE=thorough pytest tests/contract/evidence/samples/test_mutations.py
"""

import json
import os
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import ValidationError, validators
from jsonschema.validators import Draft202012Validator

from harness.api.operations import OPERATIONS
from harness.contract import first_violation, ordered_validator, schema
from harness.contract.check import check_answer
from harness.contract.phrasing import format_path
from harness.contract.rule import CREATE_RESPONSE, RULES, Rule
from harness.core.errors import MAX_MESSAGE
from harness.core.exchange import Answer, Json
from tests.contract.evidence.samples.mutate import KEYS, Mutation, instance, mutations, places, replaced
from tests.contract.evidence.samples.requests import NAMED, REQUESTS
from tests.contract.evidence.samples.stored import continuing, fresh, post, remembering, send
from tests.support.seed import of_today
from tests.support.slow import slow_except

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def many(examples: int) -> settings:
    times = 100 if THOROUGH else 1
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    kept: dict[str, Any] = {"derandomize": not THOROUGH, "deadline": None, "database": None}
    return settings(max_examples=times * examples, suppress_health_check=slow, **kept)


CONTINUING = list(continuing())
PLACEHOLDER = re.compile(r"\{[a-z]\w*\}")
"""What a message must not have left of its template."""


TEXTS = (
    *("", "x", "1", "0", "-1", "101", "1e3", "1.5", "9" * 400, "true", "null"),
    *("é", "\U0001f600", "{path}", "'", "\0", "[1]"),
    *(["x"], [], ["message.output_text.logprobs", "y"]),
)


def refusal(answer: Answer) -> tuple[Rule, Json] | None:
    """The rule and the error of a well-formed refusal; None when the request was taken. Anything else is a fault."""
    if 200 <= answer.status < 300:
        return None
    error = answer.body["error"]
    assert answer.rule, error
    rule = RULES[answer.rule]
    assert 400 <= answer.status == rule.error.status < 500
    form = rule.error.body_template
    assert list(error) == (["message", "type", "param", "code"] if form is None else list(form["error"]))
    assert error.get("type", "invalid_request_error") in ("invalid_request_error", rule.error.type)
    assert error["message"]
    return rule, error


ALSO: dict[str, set[str]] = {
    "missing_required_parameter": {"prompt"},
    "input_empty": {"input", "previous_response_id", "conversation", "prompt"},
    "stream_options_without_stream": {"stream"},
    "tool_choice_without_tools": {"tools"},
    "tool_choice_not_found": {"tools"},
    "context_length_exceeded": {"truncation"},
    "context_management_type": {"context_management"},
    "sampling_unsupported": {"reasoning"},
    "logprobs_unsupported": {"reasoning"},
    "deferred_without_search": {"input", "prompt"},
    "search_without_deferred": {"input", "prompt"},
    "program_output_not_json": {"tools", "previous_response_id", "conversation"},
    "call_without_namespace": {"tools", "prompt", "previous_response_id", "conversation"},
}
"""Members that can make a rule speak although they are neither its `param` nor what it asks for by `when`."""
OF_THE_MODEL = ("research", "sampling", "effort", "capability", "hosted", "limits")
"""Areas of rules about what the model can do: another model is another judgement."""


def is_place_of(mutation: Mutation, rule: Rule, param: str | None) -> bool:
    """Whether `param` names what was changed: it, something inside it, what its key asks for; else what the rule says."""
    if mutation.path[0] in ALSO.get(rule.id, ()):
        return True
    if rule.id == "moved_parameter":
        return param is None and mutation.how == "add a member"
    if rule.check:
        members = {*re.findall(r"^\w+", param or ""), *(name.removesuffix("[]") for name in rule.when)}
        return mutation.path[0] in members | ({"model"} if rule.area in OF_THE_MODEL else set())
    assert param is not None
    if param == rule.error.param:  # one name wherever the fault is, as `context_management`
        return param == mutation.path[0]
    parent = format_path(mutation.path[:-1])
    if mutation.path[-1] in KEYS and parent:
        return param == parent or inside(param, parent)
    if rule.id == "object_above_max_properties" and mutation.how == "add a member":
        return param == parent
    return param == mutation.at or inside(param, mutation.at)


def inside(param: str, at: str) -> bool:
    return param.startswith((f"{at}.", f"{at}["))


def judge(mutation: Mutation, answer: Answer, *, by_schema: bool = False) -> None:
    """A mutated request was taken, or refused where it is wrong; `by_schema`: other rules may have refused it before."""
    if (refused := refusal(answer)) is None or (by_schema and refused[0].check):
        return
    rule, error = refused
    assert set(PLACEHOLDER.findall(error["message"])) <= set(PLACEHOLDER.findall(json.dumps(mutation.body)))
    assert is_place_of(mutation, rule, error["param"]), (mutation, error)
    assert len(error["message"]) <= MAX_MESSAGE


def test_what_else_makes_a_rule_speak_is_reported_of_rules_that_exist() -> None:
    assert set(ALSO) <= set(RULES)


class TestARequestWithOneThingWrong:
    @many(150)
    @given(mutations(REQUESTS, NAMED))
    def test_a_request_with_one_thing_wrong_is_accepted_or_refused_where_it_is_wrong(self, mutation: Mutation) -> None:
        judge(mutation, post(fresh(), mutation.body))

    @pytest.mark.slow
    @of_today(many(500))
    @given(mutations(REQUESTS, NAMED))
    def test_a_request_of_this_day_is_accepted_or_refused_where_it_is_wrong(self, mutation: Mutation) -> None:
        judge(mutation, post(fresh(), mutation.body))

    @pytest.mark.slow
    @of_today(many(150))
    @given(mutations(CONTINUING, NAMED))
    def test_a_request_that_continues_is_accepted_or_refused_where_it_is_wrong(self, mutation: Mutation) -> None:
        judge(mutation, post(remembering(), mutation.body))

    @many(100)
    @given(st.sampled_from(REQUESTS), st.data())
    def test_a_request_with_one_thing_wrong_that_no_json_can_say_is_refused_as_a_whole(
        self, body: Json, data: st.DataObject
    ) -> None:
        path, _ = data.draw(st.sampled_from(list(places(body))[1:]))
        text = json.dumps(replaced(body, path, "HERE")).replace('"HERE"', data.draw(st.sampled_from(NO_JSON)))
        answer = post(fresh(), text.encode())
        assert (answer.status, answer.rule, answer.body["error"]["param"]) == (400, "body_syntax", None)

    @pytest.mark.parametrize(
        "id", slow_except([7], [o.id for o in OPERATIONS.values() if o.body_schema and o.id != CREATE_RESPONSE])
    )
    def test_a_request_of_any_operation_is_accepted_or_refused_where_it_is_wrong(self, id: str) -> None:
        good = made_up(str(OPERATIONS[id].body_schema), 30)

        @many(60)
        @given(mutations(good, NAMED))
        def judged(mutation: Mutation) -> None:
            judge(mutation, send(remembering(), id, body=mutation.body), by_schema=True)

        judged()


class TestAQuery:
    @pytest.mark.parametrize(
        "id", slow_except((0, 5, 10), [operation.id for operation in OPERATIONS.values() if operation.query_schema])
    )
    def test_a_query_of_odd_texts_is_accepted_or_refused(self, id: str) -> None:
        names = [*schema.load(str(OPERATIONS[id].query_schema))["properties"], "zzz", ""]

        @many(60)
        @given(st.dictionaries(st.sampled_from(names), st.sampled_from(TEXTS), max_size=2))
        def judged(query: dict[str, Any]) -> None:
            refused = refusal(send(remembering(), id, query=query))
            assert refused is None or refused[1]["param"].partition("[")[0] in query

        judged()

    @many(60)
    @given(
        st.sampled_from(sorted(OPERATIONS)), st.sampled_from([text for text in TEXTS if isinstance(text, str) and text])
    )
    def test_a_query_with_an_odd_id_is_refused_or_unknown(self, id: str, named: str) -> None:
        refusal(send(remembering(), id, named=named))


NO_JSON = ("NaN", "-Infinity", "1e999", "01", "+1", ".5", '"\\ud800"', '"\\udc00\\ud800"', "'x'", "undefined", '"\x01"')
ROOTS = schema.root_names(schema.schemas_directory())
WALK = ordered_validator.SchemaWalk({})


def check_pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if list(ordered_validator._check_pattern(WALK, pattern, value, {})):
        yield ValidationError(pattern)


PLAIN = validators.extend(Draft202012Validator, {"pattern": check_pattern})
"""The library as it is; only `$` is the end of a text and not also the place before a last line break."""


def made_up(root: str, count: int) -> list[Any]:
    """Right instances of a schema."""
    loaded, valid = schema.load(root), schema.validator(root).is_valid
    return [sample for sample in (instance(loaded, loaded, Random(seed)) for seed in range(count)) if valid(sample)]


class TestTheThreeEngines:
    """`jsonschema-rs` decides, the walk explains, `jsonschema` is a third opinion: they must not disagree."""

    @pytest.mark.slow
    @pytest.mark.parametrize("root", ROOTS)
    def test_agree_on_anything_with_one_thing_wrong(self, root: str) -> None:
        good = REQUESTS if root == "CreateResponse" else made_up(root, 30)
        plain, decided = PLAIN(schema.load(root)), schema.validator(root)
        walk = first_violation._load_walk(root)
        assert good, "no instance of this root could be made up"

        @many(300 if root == "CreateResponse" else 40)
        @given(mutations(good, NAMED))
        def agree(mutation: Mutation) -> None:
            valid = decided.is_valid(mutation.body)
            assert plain.is_valid(mutation.body) is valid
            assert (next(walk.find_mismatches(mutation.body), None) is None) is valid
            finding = check_answer(root, mutation.body)
            assert (finding is None) is valid
            assert finding is None or finding.message

        agree()
