"""Every parser of bytes of others returns or says what is wrong: here with a few inputs, by hand for hours.

python -m tests.fuzz.parsers --minutes 5
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.cassettes.format.untrusted import UnreadableRecording
from tests.fuzz.parsers import __main__ as command
from tests.fuzz.parsers.contract import complaint, kept
from tests.fuzz.parsers.mutated_bytes import mutated_inputs
from tests.fuzz.parsers.targets import Parser, parsers

KEPT = kept()
EACH, EACH_SLOW = 15, 400


@pytest.mark.parametrize("found", KEPT, ids=[f"{place}: {case.parser}" for place, case in enumerate(KEPT)])
def test_what_was_found_is_mended(found):
    assert complaint(parsers()[found.parser], found.data) is None


@pytest.mark.parametrize("name", parsers())
def test_a_few_inputs_are_parsed_or_refused(name):
    parser = parsers()[name]
    for data in (*parser.seeds()[:EACH], *mutated_inputs(parser, EACH, name)):
        assert complaint(parser, data) is None, data


@pytest.mark.slow
@pytest.mark.parametrize("name", parsers())
def test_hundreds_of_inputs_are_parsed_or_refused(name):
    parser = parsers()[name]
    for data in (*parser.seeds(), *mutated_inputs(parser, EACH_SLOW, f"{name}, slow")):
        assert complaint(parser, data) is None, data


def raising(problem: Exception) -> Callable[[bytes], None]:
    def parse(_: bytes) -> None:
        raise problem

    return parse


class TestTheContract:
    def test_the_contract_sees_an_exception_that_is_not_documented(self):
        assert complaint(Parser(raising(KeyError("a")), list), b"") == "exception: KeyError: 'a'"

    def test_the_contract_sees_a_message_that_names_no_place(self):
        parser = Parser(raising(UnreadableRecording("it is broken")), list, (UnreadableRecording,), "fuzz: ")
        assert complaint(parser, b"") == "message: UnreadableRecording: 'it is broken'"
        assert complaint(Parser(raising(UnreadableRecording("fuzz: no")), list, parser.raises, "fuzz: "), b"") is None

    def test_the_contract_sees_a_message_that_is_too_long(self):
        assert complaint(Parser(raising(UnreadableRecording("x" * 60_000)), list, (UnreadableRecording,)), b"") is None
        parser = Parser(raising(KeyError("x" * 4096)), list, (KeyError,))
        assert str(complaint(parser, b"")).startswith("length: 4,098 characters of KeyError: ")

    def test_the_contract_sees_time_and_memory(self, monkeypatch):
        nothing = Parser(lambda _: None, list)
        assert complaint(nothing, b"") is None
        monkeypatch.setattr("tests.support.cpu_time.time.thread_time", iter([0.0, 1.5]).__next__)
        assert complaint(nothing, b"ab") == "cost: 1.5 s for 2 bytes"
        monkeypatch.undo()
        monkeypatch.setattr("tests.fuzz.parsers.contract.peak_megabytes", iter([100, 400]).__next__)
        assert complaint(nothing, b"ab") == "memory: 300 MiB for 2 bytes"


def test_without_atheris_the_command_says_what_it_needs(monkeypatch, capsys):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert command.main(["body"]) == 2
    assert capsys.readouterr().err == "python -m tests.fuzz.parsers needs atheris: pip install atheris\n"
