"""The walk in the API's order skips what the fast validator takes."""

from harness.contract import ordered_validator
from harness.contract.compile_schema import unfolded_size
from harness.contract.first_violation import find_violation


def test_the_members_of_a_large_map_are_not_walked(monkeypatch):
    walked = []
    matches = ordered_validator._type_matches
    monkeypatch.setattr(ordered_validator, "_type_matches", lambda *args: walked.append(args) or matches(*args))
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
