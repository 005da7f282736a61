"""Where the schemas are, and what comes out of loading and compiling them."""

import json

import pytest

from harness.contract import schema
from harness.contract.check import check_answer
from harness.core.errors import SchemaError
from harness.items import function_call
from tests.support.wired import wire

ENTRY = {"source": "x", "level": "typed"}


@pytest.fixture
def place(tmp_path):
    """A schemas directory with one root, `Tool`, and no overlays."""
    (tmp_path / "openai").mkdir()
    (tmp_path / "overlays").mkdir()
    body = {"type": "object", "properties": {"name": {"type": "string"}}}
    (tmp_path / "openai" / "Tool.json").write_text(json.dumps(body))
    return tmp_path


def lay(place, name, *entries):
    (place / "overlays" / name).write_text(json.dumps([ENTRY | entry for entry in entries]))


def effective(place, root="Tool"):
    return schema.read_schema(place, root, schema.load_overlays(place))


class TestDirectory:
    def test_a_wheel_has_it_inside_the_package(self, place, monkeypatch):
        (place / "schemas" / "openai").mkdir(parents=True)
        monkeypatch.setattr(schema, "_HERE", place)
        assert schema.schemas_directory() == place / "schemas"

    def test_without_schemas_the_error_says_where_it_looked(self, tmp_path, monkeypatch):
        monkeypatch.setattr(schema, "_HERE", tmp_path / "harness")
        with pytest.raises(SchemaError, match=r"no schemas in .*reinstall"):
            schema.schemas_directory()


class TestOverlays:
    def test_files_apply_in_the_order_of_their_names(self, place):
        lay(place, "20-b.yaml", {"at": "Tool#/properties/name", "merge": {"maxLength": 2}})
        lay(place, "10-a.yaml", {"at": "Tool#/properties/name", "merge": {"maxLength": 1}})
        assert effective(place)["properties"]["name"]["maxLength"] == 2

    @pytest.mark.parametrize(
        ("day", "names"), [("2025-07-31", ["name", "old"]), ("2025-08-01", ["name"]), ("2026-01-15", ["name", "new"])]
    )
    def test_an_entry_says_when_it_is_valid(self, place, day, names):
        old = {"at": "Tool", "members": {"old": {}}, "until": "2025-07"}
        lay(place, "1.yaml", old, {"at": "Tool", "members": {"new": {}}, "since": "2026-01-15"})
        assert list(schema.read_schema(place, "Tool", schema.load_overlays(place), day)["properties"]) == names

    def test_every_stale_entry_of_a_root_is_listed(self, place):
        lay(place, "1.yaml", {"at": "Tool#/x", "merge": {"a": 1}}, {"at": "Tool", "require": ["x"]})
        with pytest.raises(SchemaError, match=r"(?s)1.yaml\[0\] at Tool#/x.*1.yaml\[1\] at Tool"):
            effective(place)

    @pytest.mark.parametrize("at", [{"at": "Tol"}, {"at": "$defs/X", "roots": ["Tol"]}])
    def test_an_unknown_root_is_named_with_the_nearest(self, place, at):
        lay(place, "1.yaml", {**at, "merge": {"a": 1}})
        with pytest.raises(SchemaError, match="no root 'Tol'; nearest: Tool"):
            schema.load_overlays(place)


class TestLoad:
    def test_an_unknown_root_is_named_with_the_nearest(self):
        with pytest.raises(SchemaError, match=r"no schema 'CreateRespons' .*nearest: CreateResponse"):
            schema.load("CreateRespons")

    def test_a_damaged_file_is_named(self, place):
        (place / "openai" / "Tool.json").write_text("{")
        with pytest.raises(SchemaError, match=r"Tool.json: not JSON"):
            schema.read_generated(place, "Tool")

    def test_a_root_is_loaded_once(self):
        assert schema.load("Conversation") is schema.load("Conversation")

    def test_every_root_loads_and_compiles(self):
        assert all(schema.validator(root) for root in schema.root_names(schema.schemas_directory()))


def test_a_part_of_a_root_is_compiled_once_with_what_it_refers_to():
    root = schema.load("ConversationItemList")
    items = root["properties"]["data"]["items"]
    part = schema.part_validator(root, items)
    assert part.is_valid(wire(function_call("f", {})))
    assert not part.is_valid({"type": "function_call"})
    assert schema.part_validator(root, items) is part


def test_only_reachable_definitions_are_preserved_in_order():
    definitions = {"C": {}, "B": {"items": {"$ref": "#/$defs/C"}}, "A": {}, "D": {"anyOf": [{"$ref": "#/$defs/D"}]}}
    left = schema.with_definitions({"anyOf": [{"$ref": "#/$defs/B"}]}, definitions)["$defs"]
    assert list(left.items()) == [("C", {}), ("B", {"items": {"$ref": "#/$defs/C"}})]
    assert schema.with_definitions({"type": "null"}, definitions) == {"type": "null"}


@pytest.mark.parametrize("root", ["ConversationItemList", "ResponseItemList"])
def test_only_an_empty_list_of_items_may_lack_the_ids_of_its_ends(root: str) -> None:
    empty = {"object": "list", "data": [], "has_more": False}
    assert check_answer(root, empty) is None
    filled = {
        **empty,
        "data": [{"type": "message", "id": "msg_1", "role": "user", "status": "completed", "content": []}],
    }
    found = check_answer(root, filled)
    assert found is not None
    assert found.at == "first_id"
    assert check_answer(root, {**filled, "first_id": "msg_1", "last_id": "msg_1"}) is None
