"""Errors of the API are filled with facts; errors for the user say what, where and how to fix it."""

from __future__ import annotations

import pytest

from harness.core.errors import REQUEST_ID, ApiError, ConfigError, HarnessError, NoTurn, Problem, ScriptError


def test_every_text_of_an_error_may_have_facts() -> None:
    error = ApiError(429, "{n} of {most}", "input[{n}]", "over_{most}", "{kind}_error", {"x-{kind}": "{n}"})
    filled = error.fill({"n": 3, "most": 2, "kind": "limit"})
    told = {"message": "3 of 2", "type": "limit_error", "param": "input[3]", "code": "over_2"}
    assert filled.body() == {"error": told}
    assert (filled.status, filled.headers) == (429, {"x-limit": "3"})


def test_a_fact_that_is_missing_is_no_empty_text() -> None:
    with pytest.raises(KeyError, match="most"):
        ApiError(400, "{n} of {most}").fill({"n": 3})


def test_a_body_of_another_form_has_facts_as_they_are() -> None:
    form = {"error": {"code": "{status}", "text": "{status}: {message}", "id": "{request_id}", "more": {"n": "{n}"}}}
    filled = ApiError(404, "No {n}.", body_template=form).fill({"n": 3})
    assert filled.body() == {"error": {"code": 404, "text": "404: No 3.", "id": REQUEST_ID, "more": {"n": 3}}}
    assert filled.members()["message"] == "No 3."


def test_an_error_for_the_user_is_its_parts_in_lines() -> None:
    raised = ScriptError("no item 'mesage'.", ["  at line 3"], "Write `message`.")
    assert str(raised) == "no item 'mesage'.\n  at line 3\nWrite `message`."
    assert raised.problem == Problem("no item 'mesage'.", ("  at line 3",), "Write `message`.")
    assert str(ConfigError("only this")) == "only this"


def test_each_kind_leads_to_its_section_of_the_manual() -> None:
    sections = ["options-and-files", "options-and-files", "scripts", "a-request-could-not-be-answered"]
    assert [kind.section for kind in (HarnessError, ConfigError, ScriptError, NoTurn)] == sections


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    said = str(HarnessError("What. " + "x" * 60_000 + " Fix it."))
    assert len(said) < 4096
    assert said.startswith("What. xxx")
    assert said.endswith("xxx Fix it.")
