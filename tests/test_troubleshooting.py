"""The page "Troubleshooting": its sections are those that messages name, its messages are those of the harness."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from typing import get_args

import pytest

import harness.server.mock_api  # noqa: F401  (registers the rules)
from harness.contract.rule import RULES
from harness.core.errors import HarnessError, Section, name_section
from harness.explain.cause import Cause, CauseKind
from tests.support.command_line import run_cli
from tests.support.sources import ROOT, sources, texts_in

PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
SHOWN: list[str] = re.findall(r"^\| `(.+?)`(?: of the SDK, at import)? \|", PAGE, re.M)
OF_OTHERS = {"The api_key client option must be set"}


def anchor(heading: str) -> str:
    return re.sub(r"[^\w-]+", "-", heading.lower()).strip("-")


def test_the_sections_are_those_that_messages_name():
    assert {anchor(heading) for heading in re.findall(r"^## (.+)$", PAGE, re.M)} == set(get_args(Section))


def test_every_error_that_ends_a_run_names_a_section():
    for name, source in sources().items():
        if re.search(r"^class \w+\((?:\w*Error|UnreadableRecording)\):", source.file.read_text(encoding="utf-8"), re.M):
            import_module(name)
    assert {
        kind.__name__: kind.section for kind in descend(HarnessError) if kind.section not in get_args(Section)
    } == {}


def descend(kind: type[HarnessError]) -> Iterator[type[HarnessError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from descend(below)


@pytest.mark.parametrize(
    "kind",
    sorted({*get_args(CauseKind)} - {"raised", "disagreement", "unreadable", "examined", "shutdown", "migration"}),
)
def test_every_cause_of_a_failed_test_names_a_section(kind):
    label, place = Cause("what", kind=kind).rows[-1]
    assert label == "manual"
    assert place.rpartition(" ")[2] in get_args(Section)


def test_no_cause_is_of_another_kind():
    made = [
        node
        for file in (ROOT / "harness/explain").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Cause"
    ]
    named = [node for node in made if len(node.args) > 1 or "kind" in {word.arg for word in node.keywords}]
    assert made
    assert named == made


@pytest.mark.parametrize("section", get_args(Section))
def test_the_command_that_a_message_names_shows_its_section(section):
    told = run_cli(*name_section(section).split()[1:]).stdout
    assert anchor(told.splitlines()[0]) == section
    assert "  fix      " in told
    assert "|" not in told.replace("a|b", "")


def test_the_commonest_messages_are_there():
    assert len(SHOWN) >= 40
    assert len(SHOWN) == len(set(SHOWN))


@pytest.mark.parametrize("message", [message for message in SHOWN if message not in OF_OTHERS])
def test_a_message_is_one_of_the_harness(message):
    parts = [part.strip(" .:,'()=[]\"") for part in message.split("…")]
    assert [part for part in parts if len(part) > 2 and not is_said(part)] == []


def is_said(part: str) -> bool:
    """Return whether a part of a message is in a text of the harness, or made of two of them."""
    halves = ((part[:place].strip(), part[place:].strip()) for place in range(len(part)) if part[place] == " ")
    return is_in_a_text(part) or any(is_in_a_text(half) and is_in_a_text(rest) for half, rest in halves)


@cache
def is_in_a_text(words: str) -> bool:
    return words in all_texts()


@cache
def all_texts() -> str:
    """Return every text of the harness and of what loads its plugin, and the words of all rules, a page each."""
    entry = list(ast.walk(ast.parse((ROOT / "responses_harness_pytest.py").read_text(encoding="utf-8"))))
    words = (message for rule in RULES.values() for message in rule.rejects)
    return "\f".join(chain(texts_in(entry), words, *(source.texts for source in sources().values())))
