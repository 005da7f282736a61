"""The contract as data: its format, and two runners that find of a server what `verify --server` finds."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

import jsonschema_rs
import pytest

from harness.api.responses import SOCKET
from harness.contract.rule import RULES
from harness.core.limits import Limits
from harness.live.conformance.examine_server import examine_server
from harness.live.conformance.export import export_contract
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from tests.support.servers.plain_server import JSON, Reply, server

RUNNERS = [(sys.executable, "run_contract.py"), *([("node", "run_contract.mjs")] if which("node") else [])]
"""Node is not on every machine."""
MAX_LINES = 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("contract")
    export_contract(made)
    return made


@pytest.fixture(scope="module")
def contract(folder: Path) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads((folder / "contract.json").read_text())
    return whole


def test_the_format_is_as_its_schema_says(folder: Path, contract: dict[str, Any]) -> None:
    schema = json.loads((folder / "contract.schema.json").read_text())
    assert jsonschema_rs.validator_for(schema).is_valid(contract)


def test_every_example_of_every_rule_is_there(contract: dict[str, Any]) -> None:
    written = Counter(example["rule"] for example in contract["examples"] if example["rule"])
    assert written == Counter({rule.id: len(rule.rejects) + len(rule.accepts) for rule in RULES.values()}) - Counter(
        [rule.id for rule in RULES.values() if not rule.rejects and not rule.accepts]
    )
    assert all(example["sources"] for example in contract["examples"] if example["rule"])


def test_an_example_has_the_steps_and_the_error(contract: dict[str, Any]) -> None:
    example = next(each for each in contract["examples"] if each["rule"] == "call_needs_output")
    assert example["expected"]["status"] == 400
    assert example["expected"]["message"].startswith("No tool output found for function call")
    assert example["steps"][-1]["body"]["model"] == "{model}"
    assert example["level"] == RULES["call_needs_output"].level
    assert example["any_model"]


def test_an_example_that_depends_on_the_model_says_so(contract: dict[str, Any]) -> None:
    examples = [each for each in contract["examples"] if each["rule"] == "custom_tool_unsupported"]
    assert examples
    assert not any(each["any_model"] for each in examples if each["kind"] == "refusal")


@pytest.mark.parametrize("name", ["run_contract.py", "run_contract.mjs"])
def test_a_runner_is_short(folder: Path, name: str) -> None:
    assert len((folder / name).read_text().splitlines()) <= MAX_LINES


def answer_leniently(method: str, path: str, headers: Any, raw: bytes) -> Reply:
    """Take every request for a response, know nothing else, and word refusals in an own way."""
    if (method, path) == ("POST", "/v1/responses"):
        return 200, JSON, b'{"id": "resp_1", "object": "response"}'
    error = {"message": "No.", "type": "invalid_request_error", "param": None, "code": None}
    return 400, JSON, json.dumps({"error": error}).encode()


@contextmanager
def strict() -> Iterator[str]:
    with serve_in_thread(MockApi(fallback=small_talk, limits=Limits(exchanges=100))) as server:
        yield server.base_url


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS, ids=[name for _, name in RUNNERS])
@pytest.mark.parametrize(("kind", "good"), [(strict, True), (partial(server, answer_leniently), False)])
def test_a_runner_finds_what_verify_finds(folder, tmp_path, runner, kind, good):
    report = tmp_path / "found.json"
    with kind() as url:
        command = [*runner, url, "", str(report)]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        score = examine_server(url, jobs=2, timeout=5)
    expected = Counter(
        (finding["kind"], finding["name"], finding["outcome"])
        for finding in score.findings
        if finding["kind"] in ("refusal", "accept") and finding["request"]["on"] != SOCKET
    )
    found = json.loads(report.read_text())["findings"]
    assert Counter((each["kind"], each["name"], each["outcome"]) for each in found) == expected
    assert bool(found) != good
    assert "accepts  " in ran.stdout
