"""What a page copies of an exchange runs elsewhere and says the same: turns, requests, tests."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.ending import empty, incomplete
from harness.items import function_call, message
from harness.viewer.copies import fill_copy
from harness.world.scripting.document import parse_document
from tests.support.in_process import user
from tests.support.shown import TOOL, Asked, read


def copied(asked: Asked, name: str) -> str:
    case = asked.show()
    shown = case.exchanges[-1]
    return fill_copy(shown.copies[name], read(case, shown.number, "request"))


HARD = 'He said """\'\\ $HOME `id` \\" é\n JSON\nJSON'


def test_a_turn_is_copied_as_yaml_that_a_script_reads(asked: Asked) -> None:
    asked.mock.script([message(HARD), function_call("look", {"city": "Paris"}, call_id="call_1")])
    asked.ask("hi", tools=[TOOL | {"parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}])
    document = parse_document({"script": yaml.safe_load(copied(asked, "turn_yaml"))})
    other = Asked()
    document.apply(other.mock)
    said = other.ask(
        "hi", tools=[TOOL | {"parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    )
    assert said["output"][0]["content"][0]["text"] == HARD
    assert (said["output"][1]["call_id"], json.loads(said["output"][1]["arguments"])) == ("call_1", {"city": "Paris"})


def test_a_turn_is_copied_as_python(asked: Asked) -> None:
    asked.mock.script([message(HARD)])
    asked.ask("hi")
    call = ast.parse(copied(asked, "turn_python")).body[0]
    assert isinstance(call, ast.Expr)
    other = Asked()
    exec(copied(asked, "turn_python"), {"mock": other.mock, "message": message})
    assert other.ask("hi")["output"][0]["content"][0]["text"] == HARD


def test_an_empty_answer_is_copied_by_its_name(asked: Asked) -> None:
    asked.mock.script(empty(), incomplete())
    asked.ask("hi")
    assert (copied(asked, "turn_yaml"), copied(asked, "turn_python")) == ("- empty:", "mock.script(empty())")
    assert "from harness.ending import empty\n" in copied(asked, "pytest")
    parse_document({"script": yaml.safe_load(copied(asked, "turn_yaml"))}).apply(asked.mock)
    asked.ask("hi")
    assert "turn_yaml" not in asked.show().exchanges[-1].copies
    assert asked.ask("hi")["output"] == []


def test_curl_sends_the_same_body(asked: Asked, tmp_path: Path) -> None:
    asked.mock.script("ok")
    asked.ask([user(HARD)], metadata={"a": HARD})
    script = copied(asked, "curl")
    assert "$OPENAI_API_KEY" in script
    (tmp_path / "curl").write_text("#!/bin/sh\ncat > sent.json\n")
    (tmp_path / "curl").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environment, check=True, timeout=20)
    assert json.loads((tmp_path / "sent.json").read_text()) == asked.mock.exchanges[0].request.body


@pytest.mark.slow
@pytest.mark.parametrize(("input", "turn"), [(HARD, "ok"), ("hi", empty()), (17, None)])
def test_a_request_is_copied_as_a_test_that_passes(asked: Asked, input: object, turn: Any, tmp_path: Path) -> None:
    if turn:
        asked.mock.script(turn)
    asked.ask(input)
    (tmp_path / "test_copied.py").write_text(copied(asked, "pytest"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_copied.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_refusal_is_copied_as_one_that_is_expected(asked: Asked) -> None:
    asked.ask(17)
    text = copied(asked, "refusal")
    assert re.match(r"with mock\.refuses\('invalid_type'\) as refused:", text)
