"""Making the schemas directory, finding out what is wrong with it, and what has moved since."""

import json
import shutil
import sys

import pytest

from harness.contract import schema
from harness.core.errors import SchemaError
from tools.schemas.from_openapi import Change
from tools.schemas.from_sdk import generate, sdk_version
from tools.schemas.sync import OPENAPI_OVERLAY, check, diff, pretty, sync

pytestmark = pytest.mark.slow

TEMPERATURE = {"properties": {"temperature": {"type": "number", "maximum": 2}, "new": {"type": "string"}}}
DOCUMENT = {"info": {"version": "2.3.0"}, "components": {"schemas": {"CreateResponse": TEMPERATURE}}}
ENTRY = {"source": "x", "level": "typed"}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    file = tmp_path_factory.mktemp("openapi") / "openapi.json"
    file.write_text(json.dumps(DOCUMENT))
    return str(file)


@pytest.fixture(scope="module")
def made(tmp_path_factory, document):
    place = tmp_path_factory.mktemp("made")
    sync(place, document)
    return place


@pytest.fixture
def place(made, tmp_path):
    """A schemas directory, just made."""
    return shutil.copytree(made, tmp_path / "schemas")


def lay(place, *entries):
    (place / "overlays" / "20-test.yaml").write_text(json.dumps([ENTRY | entry for entry in entries]))
    sync(place)


def edit(place, root, change):
    file = place / "openai" / f"{root}.json"
    body = json.loads(file.read_text())
    change(body)
    file.write_text(pretty(body))


class TestSync:
    def test_a_sync_writes_a_file_a_root_the_overlay_and_the_lock(self, place):
        assert schema.root_names(place) == sorted(generate())
        assert {file.name for file in place.iterdir()} == {"openai", "overlays", "lock.json"}
        assert schema.read_generated(place, "Thread") == generate()["Thread"]

    def test_the_bounds_of_the_document_hold(self, place):
        properties = schema.read_schema(place, "CreateResponse", schema.load_overlays(place))["properties"]
        assert properties["temperature"]["anyOf"][0] == {"type": "number", "maximum": 2}

    def test_the_lock_says_what_it_was_made_from(self, place):
        lock = json.loads((place / "lock.json").read_text())
        assert (lock["openai"], lock["openapi"]["version"]) == (sdk_version(), "2.3.0")
        assert set(lock["overlays"]) == {f"overlays/{OPENAPI_OVERLAY}"}
        assert len(lock["generated"]) == len(generate())

    def test_a_second_sync_changes_nothing(self, place, document):
        assert (sync(place, document), check(place), diff(place)) == ([], [], [])

    def test_without_a_document_its_overlay_and_origin_stay(self, place):
        before = (place / "lock.json").read_text(), (place / "overlays" / OPENAPI_OVERLAY).read_text()
        assert sync(place) == []
        assert ((place / "lock.json").read_text(), (place / "overlays" / OPENAPI_OVERLAY).read_text()) == before

    def test_a_sync_lists_what_it_changed_and_removed(self, place):
        (place / "openai" / "Gone.json").write_text("{}")
        (place / "openai" / "Thread.json").unlink()
        assert [file.name for file in sync(place)] == ["Gone.json", "Thread.json"]
        assert not (place / "openai" / "Gone.json").exists()

    def test_a_new_overlay_is_locked(self, place):
        (place / "overlays" / "20-test.yaml").write_text("[]")
        assert [file.name for file in sync(place)] == ["lock.json"]

    def test_without_a_document_a_new_directory_has_no_origin(self, tmp_path):
        sync(tmp_path)
        assert json.loads((tmp_path / "lock.json").read_text())["openapi"] is None


class TestCheck:
    def test_the_committed_schemas_are_sound(self):
        assert [line for line in check(schema.schemas_directory()) if "is installed" not in line] == []

    def test_an_edited_schema_is_found_twice(self, place):
        edit(place, "Thread", lambda body: body.pop("required"))
        assert check(place) == [
            "openai/Thread.json is not what lock.json says; run `python -m tools.schemas --sync`",
            f"openai/Thread.json is not what openai {sdk_version()} generates; run `python -m tools.schemas --sync`",
        ]

    def test_a_missing_schema_and_an_overlay_that_is_not_locked_are_found(self, place):
        (place / "openai" / "Thread.json").unlink()
        (place / "overlays" / "20-test.yaml").write_text("[]")
        assert {*check(place)} >= {
            "openai/Thread.json is missing; run `python -m tools.schemas --sync`",
            "overlays/20-test.yaml is not what lock.json says; run `python -m tools.schemas --sync`",
        }

    def test_another_sdk_is_reported_instead_of_compared(self, place):
        lock = json.loads((place / "lock.json").read_text()) | {"openai": "0.1"}
        (place / "lock.json").write_text(json.dumps(lock))
        assert check(place) == [
            f"openai {sdk_version()} is installed, the schemas are from 0.1; see `python -m tools.schemas --diff`"
        ]

    def test_without_the_sdk_only_the_files_are_checked(self, place, monkeypatch):
        monkeypatch.setitem(sys.modules, "openai", None)
        assert check(place) == []

    def test_a_directory_that_was_never_made_has_no_lock(self, tmp_path):
        problem = (
            f"openai {sdk_version()} is installed, the schemas are from None; see `python -m tools.schemas --diff`"
        )
        assert check(tmp_path)[0] == problem

    def test_a_damaged_lock_is_refused(self, place):
        (place / "lock.json").write_text("{")
        with pytest.raises(SchemaError, match=r"lock.json: not JSON"):
            check(place)

    def test_a_stale_overlay_is_found_in_each_root(self, place):
        lay(place, {"at": "$defs/McpCall", "require": ["nmae"]})
        problems = check(place)
        assert len(problems) == sum("McpCall" in body.get("$defs", {}) for body in generate().values())
        assert all("no member 'nmae'; nearest: name" in line for line in problems)

    @pytest.mark.parametrize(
        ("entry", "problem"),
        [
            (
                {"at": "$defs/McpCal", "merge": {"a": 1}},
                "20-test.yaml[0] at $defs/McpCal: no root has it; nearest: McpCall",
            ),
            (
                {"at": "Thread", "merge": {"x-rule": "no_such_rule"}},
                "Thread names rules that do not exist: no_such_rule",
            ),
            ({"at": "Threed", "merge": {"a": 1}}, "20-test.yaml[0] at Threed: no root 'Threed'; nearest: Thread"),
        ],
    )
    def test_an_overlay_that_names_nothing_that_exists_is_found(self, place, entry, problem):
        lay(place, entry)
        assert check(place) == [problem]

    def test_overlays_on_roots_and_on_narrowed_definitions_are_sound(self, place):
        narrowed = {"at": "$defs/McpCall", "roots": ["CreateResponse"], "merge": {"minProperties": 1}}
        lay(place, {"at": "Thread", "merge": {"minProperties": 1}}, narrowed)
        assert check(place) == []


class TestDiff:
    @pytest.mark.parametrize(
        ("change", "pointer", "kind", "text"),
        [
            (lambda body: body["properties"].pop("id"), "/properties/id", "added", '{"type": "string"}'),
            (lambda body: body["properties"].update({"a/b": True}), "/properties/a~1b", "removed", "true"),
            (lambda body: body["required"].remove("id"), "/required", "added", '"id"'),
            (lambda body: body["required"].append("x"), "/required", "removed", '"x"'),
            (lambda body: body["required"].reverse(), "/required", "changed", "the order"),
            (lambda body: body.update(type="array"), "/type", "changed", '"array" -> "object"'),
        ],
    )
    def test_what_the_installed_sdk_would_change(self, place, change, pointer, kind, text):
        edit(place, "ThreadDeleted", change)
        assert diff(place) == [Change("ThreadDeleted", pointer, kind, text)]

    def test_roots_that_come_and_go(self, place):
        (place / "openai" / "Thread.json").rename(place / "openai" / "Old.json")
        assert diff(place) == [Change("Old", "", "removed", "the root"), Change("Thread", "", "added", "the root")]

    def test_what_roots_share_is_reported_once(self, place):
        roots = [root for root in generate() if "McpCall" in generate()[root].get("$defs", {})]
        for root in roots:
            edit(place, root, lambda body: body["$defs"]["McpCall"].pop("additionalProperties"))
        assert diff(place) == [
            Change(", ".join(sorted(roots)), "/$defs/McpCall/additionalProperties", "added", "false")
        ]

    def test_a_long_text_is_cut(self, place):
        edit(place, "Run", lambda body: body["properties"].pop("status"))
        edit(place, "Run", lambda body: body["$defs"].pop("RunStatus", None))
        assert all(len(change.text) <= 110 for change in diff(place))

    def test_with_a_document_also_what_only_that_knows(self, place, document):
        assert Change("CreateResponse", "CreateResponse", "added", "member 'new'") in diff(place, document)

    def test_an_overlay_that_adds_a_difference_settles_it(self, place, document):
        lay(place, {"at": "CreateResponse", "members": {"new": {"type": "string"}}})
        assert not any(change.text == "member 'new'" for change in diff(place, document))


class TestPretty:
    def test_what_matches_is_one_line(self):
        assert pretty({"a": [1, {"b": None}]}) == '{"a": [1, {"b": null}]}\n'

    def test_what_does_not_match_is_one_member_a_line(self):
        assert pretty({"a": ["x" * 60, "ü" * 60], "b": {}}) == (
            '{\n "a": [\n  "' + "x" * 60 + '",\n  "' + "ü" * 60 + '"\n ],\n "b": {}\n}\n'
        )

    def test_a_long_text_stays_whole(self):
        assert pretty(["x" * 200]) == '[\n "' + "x" * 200 + '"\n]\n'
