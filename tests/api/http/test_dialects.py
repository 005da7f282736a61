"""Which dialect a path is in, and what of a request only that dialect knows."""

from __future__ import annotations

from typing import Any

import pytest

from harness.api.content_filters import filter_result
from harness.api.http.dialects import (
    API_ROOTS,
    AZURE,
    FOUNDRY,
    OPENAI,
    ApiPath,
    agent_of,
    apply_agent,
    check_dialect,
    omit_dialect_members,
    parse_api_path,
)
from harness.core.errors import ApiError, ConfigError
from harness.core.exchange import EMPTY_MAPPING, Request
from harness.core.ids import Ids
from tests.support.in_process import user

PROJECT = "/api/projects/p"
HELPER = {"type": "agent_reference", "name": "helper"}


def to_foundry(body: Any, **more: Any) -> Request:
    named = {"dialect": FOUNDRY, "root": API_ROOTS[FOUNDRY], "operation": "POST /responses"}
    return Request("POST", "/responses", body=body, **named, **more)


@pytest.mark.parametrize(
    ("path", "dialect", "root", "below"),
    [
        ("/v1/responses", OPENAI, "/v1", "/responses"),
        ("/v1/responses/", OPENAI, "/v1", "/responses/"),
        ("/openai/v1/responses", AZURE, "/openai/v1", "/responses"),
        ("/openai/responses", AZURE, "/openai", "/responses"),
        (f"{PROJECT}/openai/v1/responses", FOUNDRY, f"{PROJECT}/openai/v1", "/responses"),
        (f"{PROJECT}/openai/conversations", FOUNDRY, f"{PROJECT}/openai", "/conversations"),
        (f"{PROJECT}/threads", FOUNDRY, PROJECT, "/threads"),
        ("/openai/deployments/d/responses", AZURE, "", "/openai/deployments/d/responses"),
        (f"{PROJECT}/agents", FOUNDRY, PROJECT, "/agents"),
        (f"{PROJECT}/connections", FOUNDRY, PROJECT, "/connections"),
        ("/responses", OPENAI, "", "/responses"),
        ("", OPENAI, "", ""),
    ],
)
def test_the_form_of_a_path_tells_its_dialect(path: str, dialect: str, root: str, below: str) -> None:
    assert parse_api_path(path) == ApiPath(dialect, root, below)


@pytest.mark.parametrize("only", [OPENAI, AZURE, FOUNDRY])
def test_a_path_of_another_dialect_leads_nowhere(only: str) -> None:
    for dialect, root in API_ROOTS.items():
        whole, below = ApiPath(only, "", f"{root}/responses"), ApiPath(only, root, "/responses")
        assert parse_api_path(f"{root}/responses", only) == (below if dialect == only else whole)
    assert parse_api_path("/nowhere", only) == ApiPath(only, "", "/nowhere")


def test_a_dialect_is_chosen_by_name() -> None:
    assert [check_dialect(name) for name in (None, AZURE)] == [None, AZURE]
    with pytest.raises(ConfigError, match="dialect='aws': use one of openai, azure, foundry"):
        check_dialect("aws")


class TestAnAgent:
    def test_is_named_in_foundry_alone(self) -> None:
        body = {"agent_reference": HELPER}
        assert agent_of(to_foundry(body)) == agent_of(to_foundry({"agent": HELPER})) == HELPER
        assert agent_of(Request("POST", "/responses", body=body)) is None
        assert agent_of(to_foundry(None)) is None

    def test_brings_what_its_definition_has(self) -> None:
        request = to_foundry({"agent_reference": HELPER, "input": "hi", "instructions": None})
        said = {"agent_reference": HELPER, "input": "hi"}
        definition = {"model": "mine", "instructions": "Help."}
        assert apply_agent(request, definition).body == {**said, **definition}
        assert apply_agent(request, None).body == {**said, "model": ""}

    def test_leaves_marks_on_items_that_openai_does_not_know(self) -> None:
        bare, others = {"type": "message", "role": "user", "content": "x"}, ["no item", user("y")]
        marked = {**bare, "response_id": "r", "agent_reference": HELPER}
        request = to_foundry({"model": "m", "input": [marked, *others]})
        assert apply_agent(request, None).body["input"] == [bare, *others]

    def test_changes_nothing_elsewhere(self) -> None:
        for request in (Request("POST", "/responses", body={"agent_reference": HELPER}), to_foundry(None)):
            assert apply_agent(request, {"model": "mine"}) is request


def test_the_schema_sees_only_what_openai_knows() -> None:
    said = to_foundry({"agent_reference": HELPER, "agent": HELPER, "input": "hi"})
    assert omit_dialect_members(said) == {"input": "hi"}
    azure = Request("POST", "/responses", body={"agent": HELPER}, dialect=AZURE)
    assert omit_dialect_members(azure) == {"agent": HELPER}
    asked = {"api-version": "2025-04-01-preview", "limit": 3}
    assert omit_dialect_members(Request("GET", "/responses/r/input_items", query=asked, dialect=AZURE)) == {"limit": 3}
    assert omit_dialect_members(Request("GET", "/responses/r/input_items", query=asked)) == asked
    assert omit_dialect_members(to_foundry([1])) == [1]
    assert omit_dialect_members(Request("GET", "/responses/r", dialect=AZURE)) is EMPTY_MAPPING


class TestAForm:
    def test_is_filled_with_facts_and_with_the_four_members(self) -> None:
        form = {"error": {"code": "{code}", "text": "{message}!", "of": "{things}", "fixed": 1}, "status": "{status}"}
        error = ApiError(404, "No {name}.", code="{name}", body_template=form).fill({"name": "x", "things": [1]})
        assert error.body() == {"error": {"code": "x", "text": "No x.!", "of": [1], "fixed": 1}, "status": 404}
        assert error.members() == {"message": "No x.", "type": "invalid_request_error", "param": None, "code": "x"}

    def test_may_be_that_of_openai(self) -> None:
        error = ApiError(400, "No.").fill({})
        assert error.body() == {"error": error.members()}


@pytest.mark.parametrize(("source", "only"), [("prompt", "jailbreak"), ("completion", "protected_material_text")])
def test_filters_look_for_other_things_in_a_prompt_than_in_a_completion(source: str, only: str) -> None:
    said = filter_result(source, ("violence",), 12)
    results = said["content_filter_results"]
    assert results[only] == {"detected": False, "filtered": False}
    assert results["violence"] == {"filtered": True, "severity": "medium"}
    assert results["hate"] == {"filtered": False, "severity": "safe"}
    assert (said["blocked"], said["source_type"], said["content_filter_offsets"]["end_offset"]) == (True, source, 12)
    assert not filter_result(source, (), 0)["blocked"]


def test_ids_have_the_forms_of_azure() -> None:
    ids = Ids("a")
    assert [len(part) for part in ids.guid().split("-")] == [8, 4, 4, 4, 12]
    made = ids.project_conversation()
    assert (made[:5], len(made), made[21:23]) == ("conv_", 55, "00")
