"""The schema of the lines between `responses-harness examine` and an adapter is in step with what writes and reads them."""

import json
from dataclasses import asdict, fields
from pathlib import Path

import jsonschema_rs
import pytest

from harness.api.http.dialects import API_ROOTS
from harness.examine.adapter import Declaration
from harness.examine.case import AREAS, CASES, FEATURES, STATES
from harness.examine.run_cases import select_cases
from harness.examine.task import Agent, Outcome, Task, Tool, UserAnswer

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "adapter.json").read_text(encoding="utf-8"))
DEFINED = SCHEMA["$defs"]
LINES = jsonschema_rs.validator_for(SCHEMA)
OF = {
    "agent": Agent,
    "approval": UserAnswer,
    "declaration": Declaration,
    "outcome": Outcome,
    "task": Task,
    "tool": Tool,
}


@pytest.mark.parametrize("name", OF)
def test_the_members_are_those_of_the_class(name):
    assert list(DEFINED[name]["properties"]) == [field.name for field in fields(OF[name])]


@pytest.mark.parametrize(
    ("name", "known"), [("areas", AREAS), ("features", FEATURES), ("states", STATES), ("dialects", API_ROOTS)]
)
def test_the_names_are_all_of_them(name, known):
    assert DEFINED["declaration"]["properties"][name]["items"]["enum"] == list(known)


def test_the_tasks_of_all_cases_are_valid():
    assert select_cases()
    tasks = {id: json.loads(json.dumps(asdict(case.task))) for id, case in CASES.items()}
    assert [id for id, task in tasks.items() if not LINES.is_valid({"task": task})] == []


@pytest.mark.parametrize(
    "line",
    [
        json.loads(json.dumps(Declaration(client="c 1").as_json())),
        {"client": "c"},
        {"outcome": {"texts": ["a"]}, "leaked": 1},
        {"outcome": json.loads(json.dumps(asdict(Outcome(error={"type": "E", "message": "m", "status": None}))))},
    ],
)
def test_what_an_adapter_may_write_is_valid(line):
    LINES.validate(line)


@pytest.mark.parametrize(
    "line", [{}, {"client": "c", "features": ["flying"]}, {"outcome": {"text": "a"}}, {"outcome": 3}]
)
def test_what_it_may_not_write_is_invalid(line):
    assert not LINES.is_valid(line)
