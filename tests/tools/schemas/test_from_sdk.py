"""The SDK's types as JSON Schema: complete, closed or open, with names that mean one thing."""

import json
import sys

import pytest

from harness.core.errors import ConfigError, SchemaError
from tools.schemas.from_sdk import ANSWER_TYPES, REQUEST_TYPES, generate, sdk_version, short_names, strip_prose

pytestmark = pytest.mark.slow  # what is generated is in the repository: test_sync.py compares all of it


def nodes(node):
    yield from (inner for part in (node if isinstance(node, list) else []) for inner in nodes(part))
    if isinstance(node, dict):
        yield node
        for name, part in node.items():
            yield from nodes([*part.values()] if name in ("properties", "$defs") else part)


def definition(root, name):
    return generate()[root]["$defs"][name]


class TestRoots:
    def test_every_root_of_the_tables_is_there(self):
        assert set(generate()) == {*REQUEST_TYPES, *ANSWER_TYPES}

    @pytest.mark.parametrize("root", sorted(REQUEST_TYPES))
    def test_a_request_is_closed_everywhere(self, root):
        objects = [node for node in nodes(generate()[root]) if "properties" in node]
        assert objects
        assert all("additionalProperties" in node for node in objects)

    @pytest.mark.parametrize("root", sorted(ANSWER_TYPES))
    def test_an_answer_is_open_everywhere(self, root):
        assert all(node.get("additionalProperties") is not False for node in nodes(generate()[root]))

    @pytest.mark.parametrize("root", sorted({**REQUEST_TYPES, **ANSWER_TYPES}))
    def test_a_root_has_exactly_the_definitions_it_reaches(self, root):
        body = generate()[root]
        used = {node["$ref"].removeprefix("#/$defs/") for node in nodes(body) if "$ref" in node}
        assert used == set(body.get("$defs", {}))

    @pytest.mark.parametrize("root", sorted({**REQUEST_TYPES, **ANSWER_TYPES}))
    def test_no_prose_is_left(self, root):
        body = {name: part for name, part in generate()[root].items() if name not in ("$schema", "title")}
        assert not any(
            {"title", "description", "default", "discriminator", "oneOf"} & node.keys() for node in nodes(body)
        )

    @pytest.mark.parametrize(
        ("root", "stream"),
        [
            ("CreateResponse", {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
            ("CreateRun", {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
            ("RetrieveResponse", {"type": "boolean"}),
        ],
    )
    def test_stream_is_any_boolean(self, root, stream):
        assert generate()[root]["properties"]["stream"] == stream

    def test_members_stand_in_the_order_of_the_type(self):
        assert list(definition("CreateResponse", "EasyInputMessageParam")["properties"]) == [
            "content",
            "role",
            "phase",
            "type",
        ]

    def test_an_iterable_of_items_is_a_complete_array(self):
        branches = generate()["CreateResponse"]["properties"]["input"]["anyOf"]
        assert {"$ref": "#/$defs/FunctionCallOutput"} in branches[1]["items"]["anyOf"]

    def test_a_root_is_named_after_its_type(self):
        assert generate()["Response"]["title"] == "Response"
        assert "title" not in generate()["ResponseStreamEvent"]


class TestNames:
    def test_a_name_means_one_type_in_all_roots(self):
        seen = {}
        for root, body in generate().items():
            for name, part in body.get("$defs", {}).items():
                assert seen.setdefault(name, part) == part, f"{name} in {root}"

    def test_an_answers_type_named_like_a_requests_says_so(self):
        assert "answer__McpCall" in generate()["Response"]["$defs"]
        assert "McpCall" in generate()["CreateResponse"]["$defs"]

    @pytest.mark.parametrize(
        ("definitions", "names"),
        [
            ({"Tool": {}}, ["Tool"]),
            (
                {"openai__types__a__Tool": {"type": "null"}, "openai__types__b__Tool": {"type": "null"}},
                ["Tool", "Tool"],
            ),
            ({"openai__types__a__Tool": {}, "openai__types__b__Tool": {"type": "null"}}, ["a__Tool", "b__Tool"]),
            (
                {"openai__types__beta__x__Tool": {}, "openai__types__x__Tool": {"type": "null"}},
                ["beta__x__Tool", "Tool"],
            ),
            ({"p__x__Tool": {}, "q__x__Tool": {"type": "null"}}, ["p__x__Tool", "q__x__Tool"]),
        ],
    )
    def test_a_name_is_as_short_as_it_can_be(self, definitions, names):
        assert short_names(definitions) == dict(zip(definitions, names, strict=True))

    def test_definitions_that_differ_only_in_what_they_refer_to_are_distinguished(self):
        inner = {"a__Inner": {}, "b__Inner": {"type": "null"}}
        outer = {f"{module}__Outer": {"$ref": f"#/$defs/{module}__Inner"} for module in "ab"}
        assert short_names(inner | outer) == {name: name for name in (*inner, *outer)}


class TestClean:
    def test_a_member_may_be_named_like_a_dropped_keyword(self):
        node = {"title": "x", "properties": {"title": {"title": "Title", "type": "string"}}}
        assert strip_prose(node, closed=False) == {"properties": {"title": {"type": "string"}}}

    def test_values_are_left_alone(self):
        node = {"enum": ["title"], "const": {"title": 1}, "required": ["default"]}
        assert strip_prose(node, closed=True) == node

    def test_typed_extra_members_stay(self):
        node = {"properties": {}, "additionalProperties": {"type": "string", "title": "x"}}
        assert strip_prose(node, closed=True) == {"properties": {}, "additionalProperties": {"type": "string"}}

    def test_one_of_becomes_any_of(self):
        assert strip_prose({"oneOf": [{"type": "null"}], "discriminator": {}}, closed=False) == {
            "anyOf": [{"type": "null"}]
        }


class TestSdk:
    def test_the_sdk_generates_the_same_every_time(self):
        assert json.dumps(generate.__wrapped__()) == json.dumps(generate())

    @pytest.mark.parametrize(
        ("missing", "make"),
        [("openai", generate.__wrapped__), ("pydantic", generate.__wrapped__), ("openai", sdk_version)],
    )
    def test_without_the_sdk_the_error_says_what_to_install(self, monkeypatch, missing, make):
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(ConfigError, match=rf'^this command needs {missing}: .*pip install .*\[openai\]"$'):
            make()

    def test_a_type_that_is_gone_is_named(self, monkeypatch):
        monkeypatch.delattr("openai.types.responses.CompactedResponse")
        with pytest.raises(
            SchemaError, match=r"has no openai.types.responses:CompactedResponse: correct CompactedResponse"
        ):
            generate.__wrapped__()

    def test_a_module_that_is_gone_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "openai.types.conversations", None)
        with pytest.raises(SchemaError, match=r"has no openai.types.conversations:Conversation"):
            generate.__wrapped__()
