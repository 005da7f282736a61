"""The walk in the API's order skips what the fast validator takes."""

import sys
from typing import Any

from harness.contract import ordered_validator
from harness.contract.compile_schema import unfolded_size
from harness.contract.first_violation import find_violation


def test_the_members_of_a_large_map_are_not_walked(monkeypatch):
    walked = []
    kind_of = ordered_validator._kind_of
    monkeypatch.setattr(ordered_validator, "_kind_of", lambda value: walked.append(value) or kind_of(value))
    metadata = {f"key_{number}": "v" for number in range(2_000)}
    found = find_violation("CreateResponse", {"model": "gpt-4.1", "input": "hi", "metadata": metadata})
    assert (found.keyword, found.path) == ("maxProperties", "metadata")
    assert len(walked) < 200


def test_the_first_wrong_member_of_a_large_map_is_named():
    metadata = {f"key_{number}": "v" for number in range(9)} | {"wrong": 1, "also": 2}
    found = find_violation("CreateResponse", {"model": "gpt-4.1", "input": "hi", "metadata": metadata})
    assert (found.keyword, found.path) == ("type", "metadata.wrong")


def test_the_values_of_an_enum_are_no_parts_of_a_schema():
    assert unfolded_size({"enum": [{"v": number} for number in range(1_000)]}) == 1
    assert unfolded_size({"properties": {"enum": {"properties": {"a": {}}}}}) == 5


def test_a_fault_among_the_kinds_of_items_is_found_without_trying_all_of_them():
    file = {"role": "assistant", "content": [{"type": "input_file", "file_id": "file-1"}]}
    body = {"model": "gpt-4.1", "input": [{"role": "user", "content": "hi"}, file]}
    first = find_violation("CreateResponse", body)
    calls = []

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_globals["__name__"].startswith("harness."):
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        again = find_violation("CreateResponse", body)
    finally:
        sys.setprofile(None)
    assert (again, first.path) == (first, "input[1].content[0]")
    assert len(calls) < 150, "what is the same for every body is prepared once"
