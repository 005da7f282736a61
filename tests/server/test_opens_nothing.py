"""Judging and answering a request opens no file and no connection, whatever the request says."""

import socket
from pathlib import Path
from typing import Any

import pytest

import harness
import harness.server.mock_api
from harness.contract.rule import RULES
from harness.items import message
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from harness.verify.examples import play_case
from tests.support.audit import opened_by_this_thread
from tests.support.in_process import KEY, Client


def schemas_with(reference: str) -> list[Any]:
    """Schemas of a client that lead to another document."""
    return [
        {"$ref": reference},
        {"type": "object", "properties": {"a": {"$ref": reference}}, "required": ["a"], "additionalProperties": False},
        {"anyOf": [{"$ref": f"{reference}#/$defs/A"}, {"type": "null"}]},
        {"allOf": [{"$ref": reference}]},
        {"$dynamicRef": reference},
        {"$schema": reference, "type": "object"},
        {"$id": reference, "$ref": "other.json"},
    ]


def bodies_with(schema: Any) -> list[dict[str, Any]]:
    """Requests that carry a schema wherever one may stand."""
    tool = {"type": "function", "name": "f", "parameters": schema, "strict": False}
    required = {"tool_choice": "required"}
    return [
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}},
        {"text": {"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}}},
        {"tools": [tool], **required},
        {"tools": [{**tool, "strict": True}], **required},
        {"tools": [{**tool, "defer_loading": True}, {"type": "tool_search"}]},
    ]


@pytest.fixture
def silent_port() -> Any:
    """A port whose listener never answers: whoever asks it hangs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("scripted", [False, True])
def test_a_reference_of_a_clients_schema_is_not_followed(tmp_path: Path, silent_port: int, scripted: bool) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"const": "top secret"}')
    references = [f"http://127.0.0.1:{silent_port}/x", secret.as_uri(), str(secret), "https://example.com/schema"]
    client = Client()
    client.api = MockApi(fallback=small_talk)
    mock = client.api.open(KEY)
    if scripted:
        mock.when().script(*[message("{}")] * 1000)
    for reference in references:
        for schema in schemas_with(reference):
            for members in bodies_with(schema):
                with opened_by_this_thread() as opened:
                    answer = client.ask(**members)
                assert opened == [], members
                assert b"top secret" not in str(answer.body).encode()


def test_the_examples_of_no_rule_make_the_mock_open_anything() -> None:
    for rule in RULES.values():
        for case in (*rule.rejects.values(), *rule.accepts):
            with opened_by_this_thread() as opened:
                play_case(case)
            assert opened == [], rule.id


def test_what_is_opened_is_seen(tmp_path: Path) -> None:
    with opened_by_this_thread() as opened:
        (tmp_path / "a").write_text("a")
        with socket.socket() as one:
            one.connect_ex(("127.0.0.1", 9))
    assert {event for event, _ in opened} >= {"open", "socket.connect"}


def test_one_module_compiles_schemas() -> None:
    compiling = ("jsonschema_rs.validator_for", "jsonschema_rs.is_valid", "jsonschema_rs.validate(", "Validator(")
    package = Path(harness.__file__).parent
    found = {
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if any(call in file.read_text("utf-8") for call in compiling)
    }
    assert found == {"contract/compile_schema.py"}
