"""A failing test says when requests came with another key: the API's 401 cannot know whose they are."""

import sys
import unittest
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import openai
import pytest

from harness.pytest_plugin import client_watch, plugin
from harness.world.mock import Mock
from tests.support.inner_run import Run


def test_a_loader_of_other_modules_notes_the_sdk_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loader:
        """As pytest's, which loads every module whose assertions it rewrites."""

        def create_module(self, spec: Any) -> None: ...

        def exec_module(self, module: ModuleType) -> None: ...

        def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec:
            return ModuleSpec(name, self)

    noted: list[str] = []
    monkeypatch.setattr(sys, "meta_path", [Loader()])
    monkeypatch.setattr(client_watch, "note_clients_of", lambda module: noted.append(module.__name__))
    spec = plugin._ClientNoter().find_spec("openai")
    for name in ("fractions", "openai"):
        spec.loader.exec_module(ModuleType(name))
    assert noted == ["openai"]


def test_a_program_with_a_key_of_its_own_is_let_in_by_the_mark(run: Run) -> None:
    source = """
def program():
    return openai.OpenAI(api_key="sk-test", max_retries=0).responses.create(model="gpt-4.1", input="x").output_text

{mark}
def test_it(mock):
    mock.script(message("hi"))
    assert program() == "hi"
"""
    result = run(source.format(mark="")).shows(
        "E *AuthenticationError: Error code: 401 - Incorrect API key provided: sk-test.*", failed=1
    )
    assert [line for line in result.outlines if line.startswith(("A request with", "  where", "  fix"))] == [
        "A request with another key, sk-test, was refused (401).",
        "  where   POST /responses, before any request of this test",
        '  fix     To accept a program with its own key: @pytest.mark.harness(key="sk-test"). '
        "Otherwise pass mock.api_key to its",
    ]
    assert "No request came" not in result.stdout.str()
    run(source.format(mark='@pytest.mark.harness(key="sk-test")')).assert_outcomes(passed=1)


def test_a_client_of_a_test_that_has_ended_is_named_with_that_test(run: Run) -> None:
    run("""
kept = []

def test_first(mock):
    kept.append(openai.OpenAI(max_retries=0))

def test_second(mock, openai_client):
    mock.script(message("hi"), message("left"))
    openai_client.responses.create(model="gpt-4.1", input="x")
    kept[0].responses.create(model="gpt-4.1", input="x")
""").shows(
        "A request with another key, sk-harne***************????, was refused (401).",
        "  where   POST /responses, after request 1",
        "  fix     The client was created in test_a_client_*.py::test_first, which",
        "          has ended. Create one in each test, or set `harness_env = session`: *",
        passed=1,
        failed=1,
    )


def test_the_origin_is_reported_when_the_code_swallows_the_401(run: Run) -> None:
    result = run("""
def test_it(mock):
    mock.script(message("hi"))
    for key in ("sk-a-key-that-is-long-enough", ""):
        swallow(openai.OpenAI(api_key=key))
""").shows("A request *", failed=1)
    assert "sk-a-key-that-is-long-enough" not in result.stdout.str().partition("A request with")[2]


def test_a_401_that_the_code_swallows_fails_its_test_though_its_script_was_used(run: Run) -> None:
    run("""
def test_it(mock, openai_client):
    mock.script(message("hi"))
    openai_client.responses.create(model="gpt-4.1", input="x")
    swallow(openai.OpenAI(api_key="sk-strange"))

def test_next(mock):
    pass
""").shows("A request with another key, sk-strange, was refused (401).", passed=1, failed=1)


def test_one_caught_401_excuses_no_other(run: Run) -> None:
    run("""
def test_it(mock):
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key="sk-caught", max_retries=0).models.list()
    swallow(openai.OpenAI(api_key="sk-swallowed"))
""").assert_outcomes(failed=1)


def ask_with_another_key() -> None:
    with openai.OpenAI(api_key="sk-strange", max_retries=0) as client, suppress(openai.OpenAIError):
        client.responses.create(model="gpt-4.1", input="x")


def test_a_401_that_a_block_expects_fails_nothing(mock: Mock) -> None:
    with mock.refuses("auth_invalid_key"):
        ask_with_another_key()


@pytest.mark.harness(refusals=["auth_invalid_key"])
@pytest.mark.usefixtures("mock")
def test_a_401_that_the_marker_expects_fails_nothing() -> None:
    ask_with_another_key()


def test_keys_of_other_worlds_are_nobodys_strays(run: Run) -> None:
    run("""
def test_it(mock, openai_client):
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(api_key="wrong", max_retries=0).models.list()
    assert (mock.exchanges, len(mock.world.strays)) == ([], 1)

def test_next(mock):
    assert mock.world.strays == []
""").assert_outcomes(passed=2)


def test_an_error_is_caught_by_a_test_of_either_library() -> None:
    refused, noted = ValueError(), list[Any]()
    vars(refused)["headers"] = {"x-request-id": "req_1"}
    refusals: Any = SimpleNamespace(note_caught=noted.append)
    with client_watch.note_caught_errors(refusals):
        for catching in (unittest.TestCase().assertRaises, pytest.raises):
            with catching(ValueError):
                raise refused
    assert noted == [{"x-request-id": "req_1"}] * 2
