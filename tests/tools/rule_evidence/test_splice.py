"""The text of a cassette with entries taken out and put in, all others as they were written."""

import pytest

from tools.rule_evidence.splice import splice

HEAD = "version: 1\nharness:\n  format: 1\n  probe: new\n"
A = "- origin: {where: a}  # mine\n  request:\n    body: |-\n      {\n      - b\n"
B = "- origin: {where: b}\n\n# about the next one\n"
NEW = "- origin:\n    where: new\n  request:\n    body: |-\n      one\n\n      two\n"


def whole(interactions: str, sockets: str = "") -> str:
    return f"{HEAD}interactions:{f'{chr(10)}{interactions}' if interactions else ' []' + chr(10)}" + (
        f"sockets:\n{sockets}" if sockets else ""
    )


def indented(text: str, by: str = "  ") -> str:
    return "".join(f"{by}{line}" if line.strip() else line for line in text.splitlines(keepends=True))


def test_what_stays_is_as_it_was_written_and_the_header_is_new() -> None:
    mine = f"# kept\nversion: 1\nharness: {{format: 1}}\ninteractions:   # two\n{A}{B}"
    assert splice(mine, {1}, whole("- a: 1\n" + NEW)) == f"# kept\n{HEAD}interactions:\n{A}{NEW}"


def test_what_is_new_stands_as_far_in_as_what_stays() -> None:
    mine = f"version: 1\nharness: {{format: 1}}\ninteractions:\n{indented(A)}"
    assert splice(mine, (), whole("- a: 1\n" + NEW)) == f"{HEAD}interactions:\n{indented(A)}{indented(NEW)}"


@pytest.mark.parametrize("end", ["", "\n"])
def test_the_lists_are_counted_as_one(end: str) -> None:
    mine = f"version: 1\nharness:\n  format: 1\ninteractions:\n{A}sockets:\n{B}{A}".removesuffix("\n") + end
    assert splice(mine, {0, 1}, whole("", "- a: 1\n" + NEW)) == f"{HEAD}interactions: []\nsockets:\n{A}{NEW}"


def test_a_list_that_was_not_there_is_added_and_one_that_is_empty_goes() -> None:
    assert splice(whole(A), (), whole(A, NEW)) == whole(A, NEW)
    assert splice(whole(A, B), {1}, whole(A)) == whole(A)
