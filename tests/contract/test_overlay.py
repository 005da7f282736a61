"""An overlay entry: what it says, what it does to a schema, and when it is stale."""

import json
from copy import deepcopy
from functools import reduce

import pytest

from harness.contract.overlay import OVERLAY_OPERATIONS, apply_entries, parse_entries
from harness.core.errors import SchemaError
from harness.core.json_values import merge_patch

NULL, X = {"type": "null"}, {"x": 1}
BRANCHES = [{"$ref": "#/$defs/Tool"}, NULL]
MEMBER = "Create#/properties"
WITH_X = [BRANCHES[0], {"type": "null", "x": 1}]
PROPERTIES = {
    "name": {"type": "string"},
    "kind": {"enum": ["a", "b"]},
    "only": {"const": "a"},
    "tools": {"type": "array", "items": {"anyOf": BRANCHES}},
    "a/b~c": {"type": "string"},
}
SCHEMA = {
    "$schema": "draft",
    "title": "ToolParams",
    "type": "object",
    "properties": PROPERTIES,
    "required": ["name"],
    "$defs": {"Tool": {"type": "object", "properties": {"name": {"type": "string"}}}, "Open": {"type": "object"}},
}


def entry(at="Create", **more):
    return {"at": at, "source": "https://example.org", "level": "recorded", **more}


def applied(*entries, root="Create"):
    schema = deepcopy(SCHEMA)
    assert list(apply_entries(root, schema, parse_entries("o.yaml", json.dumps(entries)))) == []
    return schema


def problem(*entries, root="Create"):
    problems = list(apply_entries(root, deepcopy(SCHEMA), parse_entries("o.yaml", json.dumps(entries))))
    assert len(problems) == 1
    return problems[0]


def refused(text):
    with pytest.raises(SchemaError) as error:
        parse_entries("o.yaml", text if isinstance(text, str) else json.dumps([text]))
    return str(error.value)


class TestOperations:
    @pytest.mark.parametrize(
        ("made", "at", "value"),
        [
            (entry(define={"New": NULL}), "$defs/New", NULL),
            (entry("$defs/Tool#/properties/name", define={"New": {}}), "$defs/New", {}),
            (entry(nullable=["name", "kind"]), "properties/kind", {"anyOf": [{"enum": ["a", "b"]}, NULL]}),
            (entry(f"{MEMBER}/name", replace=NULL), "properties/name", NULL),
            (
                entry(f"{MEMBER}/kind", merge={"enum": None, "type": "string", "x-facts": {"a": 1}}),
                "properties/kind",
                {"type": "string", "x-facts": {"a": 1}},
            ),
            (entry(require=["tools", "kind"]), "required", ["name", "tools", "kind"]),
            (entry("$defs/Tool", require=["name"]), "$defs/Tool/required", ["name"]),
            (entry(optional=["name"]), "required", []),
            (entry("$defs/Open", members={"id": {}}), "$defs/Open/properties", {"id": {}}),
            (entry(f"{MEMBER}/kind", enum_add=["c"]), "properties/kind/enum", ["a", "b", "c"]),
            (entry(f"{MEMBER}/only", enum_add=["b"]), "properties/only", {"enum": ["a", "b"]}),
            (entry(f"{MEMBER}/tools/items", branches=[{}]), "properties/tools/items/anyOf", [*BRANCHES, {}]),
            (entry("$defs/Tool#/properties/name", merge=X), "$defs/Tool/properties/name/x", 1),
            (entry(f"{MEMBER}/tools/items/anyOf/1", merge=X), "properties/tools/items/anyOf", WITH_X),
            (entry(f"{MEMBER}/a~1b~0c", merge=X), "properties", {**PROPERTIES, "a/b~c": {"type": "string", "x": 1}}),
            (entry("$defs/ToolParams", require=["tools"]), "required", ["name", "tools"]),
        ],
        ids=lambda value: str(value) if isinstance(value, dict) and "at" in value else "",
    )
    def test_change_a_place(self, made, at, value):
        assert reduce(lambda node, step: node[step], at.split("/"), applied(made)) == value

    def test_nullable_is_stale_where_null_may_stand_or_nothing_is(self):
        assert "'name' may be null already" in problem(entry(nullable=["name"]), entry(nullable=["name"]))
        assert "no member 'nam'; nearest: name" in problem(entry(nullable=["nam"]))

    def test_replace_of_a_root_keeps_its_definitions(self):
        schema = applied(entry(replace={"type": "array"}))
        assert schema == {"type": "array", **{name: SCHEMA[name] for name in ("$schema", "title", "$defs")}}

    def test_order_puts_these_first_and_the_rest_behind(self):
        assert list(applied(entry(order=["tools", "kind"]))["properties"]) == ["tools", "kind", "name", "only", "a/b~c"]

    def test_operations_of_an_entry_run_in_their_order_not_as_written(self):
        schema = applied(entry(order=["id"], require=["id"], members={"id": {}}))
        assert next(iter(schema["properties"])) == "id"
        documented = ["define", "replace", "merge", "members", "require", "optional", "nullable", "order", "enum_add"]
        assert list(OVERLAY_OPERATIONS) == [*documented, "branches"]

    def test_operations_of_several_entries_build_on_each_other(self):
        schema = applied(entry(define={"New": {}}), entry("$defs/New", merge=NULL))
        assert schema["$defs"]["New"] == NULL

    def test_never_let_two_roots_share_what_an_entry_gave_them(self):
        entries = parse_entries("o.yaml", json.dumps([entry("$defs/Tool", members={"id": {}})]))
        one, other = deepcopy(SCHEMA), deepcopy(SCHEMA)
        assert [*apply_entries("One", one, entries), *apply_entries("Other", other, entries)] == []
        assert one["$defs"]["Tool"]["properties"]["id"] is not other["$defs"]["Tool"]["properties"]["id"]


class TestPlaces:
    @pytest.mark.parametrize(
        "elsewhere",
        [entry("Other", merge=X), entry("$defs/Elsewhere", merge=X), entry("$defs/Tool", roots=["Other"], merge=X)],
    )
    def test_places_of_another_root_or_of_definitions_that_it_lacks_change_nothing(self, elsewhere):
        assert applied(elsewhere) == SCHEMA

    @pytest.mark.parametrize(("roots", "root"), [({}, "Any"), ({"roots": ["Create"]}, "Create")])
    def test_places_of_a_definition_are_in_every_root_unless_roots_narrow_them(self, roots, root):
        assert applied(entry("$defs/Tool", merge=X, **roots), root=root)["$defs"]["Tool"]["x"] == 1

    def test_places_in_a_list_are_an_entry_each(self):
        both = entry(["$defs/Tool", f"{MEMBER}/kind"], merge=X)
        first, second = parse_entries("o.yaml", json.dumps([both]))
        assert (str(first), str(second)) == ("o.yaml[0] at $defs/Tool", "o.yaml[0] at Create#/properties/kind")
        schema = applied(both)
        assert (schema["$defs"]["Tool"]["x"], schema["properties"]["kind"]["x"]) == (1, 1)


class TestStale:
    @pytest.mark.parametrize(
        ("text", "problem_text"),
        [
            (entry(f"{MEMBER}/nam", merge={"a": 1}), "does not resolve at `nam`; nearest: name"),
            (entry(f"{MEMBER}/zzz", merge={"a": 1}), "does not resolve at `zzz`"),
            (entry("Create#/required/x", merge={"a": 1}), "does not resolve at `x`"),
            (entry("Create#/type/x", merge={"a": 1}), "does not resolve at `x`"),
            (entry("Create#/required", merge={"a": 1}), "leads to ['name'], which is not a schema object"),
            (entry(f"{MEMBER}/tools/items/anyOf/0/properties", merge={"a": 1}), "start at $defs/Tool"),
            (entry("$defs/Tol", roots=["Create"], merge={"a": 1}), "Create has no $defs/Tol; nearest: Tool"),
            (entry(define={"Tool": {}}), "'Tool' is in $defs already"),
            (entry(members={"name": {}}), "'name' is in members already"),
            (entry(f"{MEMBER}/name", members={"x": {}}), "not an object schema: type"),
            (entry(f"{MEMBER}/tools/items/anyOf/0", require=["name"]), "a $ref has no members; start at $defs/Tool"),
            (entry(merge={"type": "object"}), "`merge` changes nothing"),
            (entry(require=["name"]), "'name' is required already"),
            (entry(require=["nmae"]), "no member 'nmae'; nearest: name"),
            (entry(optional=["kind"]), "'kind' is not required"),
            (entry(order=["nmae"]), "no member 'nmae'; nearest: name"),
            (entry(order=["name"]), "`order` changes nothing"),
            (entry(f"{MEMBER}/kind", enum_add=["a"]), "'a' already exists"),
            (entry(branches=[{}]), "`branches`: no union among"),
            (entry(f"{MEMBER}/tools/items", branches=[NULL]), "{'type': 'null'} already exists"),
            (entry(f"{MEMBER}/name", enum_add=["a"]), "no enum or const among type"),
        ],
    )
    def test_what_does_not_match_is_reported_with_the_nearest_name(self, text, problem_text):
        assert problem_text in problem(text)

    def test_a_problem_names_file_entry_place_and_root(self):
        text = problem(entry(require=["kind"]), entry(f"{MEMBER}/x", merge={"a": 1}))
        assert text.startswith("o.yaml[1] at Create#/properties/x in Create: ")


class TestParse:
    def test_yaml_with_a_date_and_a_reason(self):
        text = "- {at: Create, merge: {a: 1}, source: [x, y], level: reported, date: 2026-08-30, why: seen}"
        (found,) = parse_entries("o.yaml", text)
        assert (found.date, found.source, found.level, found.why) == ("2026-08-30", ("x", "y"), "reported", "seen")

    @pytest.mark.parametrize("date", ["2026", "2026-08"])
    def test_a_date_may_be_a_year_or_a_month(self, date):
        (found,) = parse_entries("o.yaml", f"- {{at: Create, merge: {{a: 1}}, source: x, level: typed, date: {date}}}")
        assert found.date == date

    @pytest.mark.parametrize(
        ("text", "problem_text"),
        [
            ("- [", "o.yaml: not readable"),
            ("[", "o.yaml: not readable"),
            ("a: 1", "a list of entries, got dict"),
            ("[1]", "o.yaml[0]: an entry is a mapping, got 1"),
            (entry(mrege={}), "unknown key `mrege`; nearest: merge"),
            (entry("", merge={"a": 1}), "`at` is missing"),
            (entry([], merge={"a": 1}), "`at` is missing"),
            (entry(["Create", 5], merge={"a": 1}), "`at` is missing"),
            (entry("Create#x", merge={"a": 1}), "the pointer after # starts with /"),
            (entry(), "no operation; pass one of define, replace"),
            (entry(merge=[]), "`merge` takes a dict, got []"),
            (entry(require="name"), "`require` takes a list, got 'name'"),
            (entry(roots=["Create"], merge={"a": 1}), "`roots` narrows `at: $defs/…` only"),
            (entry("$defs/Tool", roots=[], merge={"a": 1}), "`roots` is a text or a list of texts"),
            (entry(merge={"a": 1}, source=None), "`source` is a text or a list of texts"),
            (entry(merge={"a": 1}, level="guess"), "`level` is one of recorded, reported"),
            (entry(merge={"a": 1}, date="yesterday"), "`date` is YYYY"),
        ],
    )
    def test_an_entry_that_cannot_be_used_is_refused_by_file_and_place(self, text, problem_text):
        assert problem_text in refused(text)


@pytest.mark.parametrize(
    ("value", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
        ([1], {"a": 1}, {"a": 1}),
    ],
)
def test_merge_patch_follows_rfc_7396(value, patch, result):
    assert merge_patch(value, patch) == result
