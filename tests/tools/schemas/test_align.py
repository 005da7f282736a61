"""Two schema trees side by side: which alternatives there are, and which belong together."""

import pytest

from tools.schemas.align import align_schemas, alternatives, resolve_pointer


def tagged(tag, **more):
    return {"type": "object", "properties": {"type": {"const": tag}, **more}}


def pairs(ours, theirs):
    return {(mine.at, match.at) for place in align_schemas(ours, theirs, (theirs, "#")) for mine, match in place.pairs}


class TestForms:
    def test_a_reference_is_followed_to_where_it_leads(self):
        (form,) = alternatives({"$defs": {"A": {"type": "string"}}}, {"$ref": "#/$defs/A"}, "#/x")
        assert (form.at, form.type) == ("#/$defs/A", "string")

    def test_a_union_is_one_form_a_branch_without_null(self):
        union = {"anyOf": [{"type": "string"}, {"oneOf": [{"type": "integer"}, {"type": "null"}]}]}
        assert [(form.at, form.type) for form in alternatives({}, union, "#")] == [
            ("#/anyOf/0", "string"),
            ("#/anyOf/1/oneOf/0", "number"),
        ]

    def test_all_of_is_one_form_with_everything(self):
        node = {"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]}
        (form,) = alternatives({}, node | {"maxProperties": 2}, "#")
        assert (set(form.members), form.required, form.keywords) == ({"a", "b"}, {"a", "b"}, {"maxProperties": 2})

    def test_keywords_beside_a_union_hold_for_each_branch(self):
        union = {"maxLength": 3, "anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string"}]}
        assert [form.keywords["maxLength"] for form in alternatives({}, union, "#")] == [3, 3]

    @pytest.mark.parametrize(
        ("node", "types"),
        [
            ({"properties": {"a": {}}}, ["object"]),
            ({"items": {}}, ["array"]),
            ({"type": ["string", "null"]}, ["string"]),
            ({"type": ["null", "integer"]}, ["number"]),
            ({}, ["any"]),
            (True, ["any"]),
            ({"type": "null"}, []),
            ({"type": ["null"]}, []),
        ],
    )
    def test_the_type_is_what_the_keywords_say_and_null_is_no_form(self, node, types):
        assert [form.type for form in alternatives({}, node, "#")] == types

    @pytest.mark.parametrize(("node", "values"), [({"const": 1}, (1,)), ({"enum": [1, 2]}, (1, 2)), ({}, ())])
    def test_values_are_those_of_enum_or_const(self, node, values):
        assert alternatives({}, node, "#")[0].values == values

    def test_a_nullable_constant_is_a_constant(self):
        nullable = {"anyOf": [{"enum": ["item_reference"]}, {"type": "null"}]}
        (form,) = alternatives({}, {"properties": {"type": nullable}}, "#")
        assert (form.name, form.constants("type"), form.constants("role")) == (
            "item_reference",
            ("item_reference",),
            (),
        )


class TestPlaces:
    def test_members_items_and_values_lead_on(self):
        ours = {"properties": {"a": {"items": {"type": "string"}}, "b": {"additionalProperties": {"type": "string"}}}}
        theirs = {"properties": {"b": {"additionalProperties": {"type": "string"}}, "a": {"items": {"type": "string"}}}}
        assert {mine for mine, match in pairs(ours, theirs) if mine == match} >= {
            "#/properties/a/items",
            "#/properties/b/additionalProperties",
        }

    def test_a_member_with_a_slash_is_escaped(self):
        tree = {"properties": {"a/b~c": {"type": "string"}}}
        assert ("#/properties/a~1b~0c",) * 2 in pairs(tree, tree)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (tagged("a"), tagged("b")),
            (tagged("message", role={"enum": ["user"]}), tagged("message", role={"enum": ["assistant"]})),
            ({"properties": {"a": {}, "b": {}}}, {"properties": {"c": {}}}),
            ({"type": "string"}, {"type": "string", "enum": ["a"]}),
        ],
        ids=["of one key", "of one role", "of the same members", "plain strings and enums"],
    )
    def test_branches_belong_together(self, first, second):
        found = pairs({"anyOf": [first, second]}, {"anyOf": [second, first]})
        assert {pair for pair in found if "properties" not in pair[0]} == {
            ("#/anyOf/0", "#/anyOf/1"),
            ("#/anyOf/1", "#/anyOf/0"),
        }

    def test_branches_belong_together_by_their_key_whatever_their_members(self):
        ours = {"anyOf": [tagged("a"), tagged("b", x={})]}
        theirs = {"anyOf": [tagged("b"), tagged("a", x={})]}
        assert pairs(ours, theirs) >= {("#/anyOf/0", "#/anyOf/1"), ("#/anyOf/1", "#/anyOf/0")}
        assert pairs(tagged("a"), tagged("b")) == set()

    def test_a_recursive_schema_ends(self):
        tree = {"$defs": {"F": {"properties": {"f": {"$ref": "#/$defs/F"}}}}, "$ref": "#/$defs/F"}
        assert pairs(tree, tree) == {("#/$defs/F", "#/$defs/F")}


def test_a_pointer_that_leads_nowhere_finds_nothing():
    assert resolve_pointer({"a": [1]}, "#/a/0") is None
