"""Judging and answering a request opens no file and no connection, whatever the request says."""

import socket
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import harness
import harness.server.mock_api
from harness.contract.rule import RULES
from harness.contract.schema import schemas_directory
from harness.items import message
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from harness.verify.examples import play_case
from tests.support.in_process import KEY, Client

WATCHED_EVENTS = (
    "open",
    "os.listdir",
    "os.scandir",
    "os.system",
    "subprocess.Popen",
    "socket.",
    "urllib.",
    "ctypes.dlopen",
)
_CODE_FOLDERS = tuple(map(Path, {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix}))
_watchers: dict[int, list[tuple[str, Any]]] = {}


def _note_event(event: str, arguments: tuple[Any, ...]) -> None:
    noted = _watchers.get(threading.get_ident())
    if noted is not None and event.startswith(WATCHED_EVENTS):
        noted.append((event, arguments))


sys.addaudithook(_note_event)  # there is no way to remove it, so it is added once


@contextmanager
def opened_by_this_thread() -> Iterator[list[tuple[str, Any]]]:
    """The files and sockets that this thread opens in the block; code that is imported and schemas are left out."""
    noted = _watchers[threading.get_ident()] = []
    found: list[tuple[str, Any]] = []
    try:
        yield found
    finally:
        del _watchers[threading.get_ident()]
        found += [(event, arguments) for event, arguments in noted if not _is_own_file(event, arguments)]


def _is_own_file(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open" and isinstance(arguments[0], int):
        return True  # it is open already: so the interpreter writes bytecode
    if event not in ("open", "os.listdir", "os.scandir") or not isinstance(arguments[0], str | Path):
        return False
    path = Path(arguments[0]).resolve()
    package = schemas_directory().parent
    return any(path.is_relative_to(folder) for folder in (*_CODE_FOLDERS, schemas_directory(), package / "harness"))


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
