"""Every parser of bytes of others returns or says what is wrong: here with a few inputs, by hand for hours.

python -m tests.fuzz.parsers --minutes 5
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest

from harness.cassettes.format.untrusted import UnreadableRecording
from tests.fuzz.parsers import __main__ as command
from tests.fuzz.parsers.contract import complaint, kept
from tests.fuzz.parsers.targets import LARGEST, Parser, parsers

KEPT = kept()
EACH, EACH_SLOW = 15, 400
ODD = (b"", b"\0", b"\xff", b"\n", b"\r\n", b"\\", b'"', b"'", b"{", b"}", b"[", b"]", b":", b",", b"9" * 30, b" " * 99)


def mutated_inputs(parser: Parser, count: int, seed: str) -> Iterator[bytes]:
    """So many inputs, one to four things changed in each."""
    chance, seeds, words = Random(seed), parser.seeds(), (*ODD, *parser.words)
    for _ in range(count):
        data = chance.choice(seeds)
        for _ in range(chance.randint(1, 4)):
            data = _change(data, chance, seeds, words)[:LARGEST]
        yield data


def _change(data: bytes, chance: Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start = chance.randint(0, len(data))
    end = min(len(data), start + chance.choice((0, 0, 1, 1, 5, 50, len(data))))
    other = chance.choice(seeds)
    put = chance.choice(
        (
            chance.choice(words),
            chance.choice(words),
            data[start:end] * 2,
            data[start:end] * chance.choice((9, 99)),
            bytes([chance.randrange(256)]),
            other[chance.randint(0, len(other)) :][: chance.choice((3, 30, 300))],
        )
    )
    return data[:start] + put + data[end:]


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
