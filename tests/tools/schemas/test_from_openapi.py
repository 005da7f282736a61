"""What becomes of an OpenAPI document: bounds for an overlay, and a work list of the rest."""

import functools
import http.server
import json
import threading

import pytest

from harness.core.errors import SchemaError
from tools.schemas.from_openapi import Change, OpenApiDocument, list_changes, read_document, render_bounds_overlay

TEXT = {"type": "string"}


def document(**schemas):
    return OpenApiDocument({"components": {"schemas": schemas}}, "2.3.0", "0123456789abcdef")


def entries(schemas, spec):
    return {
        (entry["at"], *entry.get("roots", ())): entry["merge"]
        for entry in json.loads(render_bounds_overlay(schemas, spec))
    }


def sdk(body, **definitions):
    return {"$schema": "draft", "type": "object", **body, "$defs": definitions} if definitions else body


class TestRead:
    @pytest.mark.parametrize("text", ['{"info": {"version": "1.2"}}', "info: {version: '1.2'}"])
    def test_a_document_is_read_from_a_path_to_json_or_yaml(self, tmp_path, text):
        (tmp_path / "openapi").write_text(text)
        found = read_document(str(tmp_path / "openapi"))
        assert (found.tree, found.version, len(found.sha256)) == ({"info": {"version": "1.2"}}, "1.2", 64)

    def test_a_document_is_read_from_a_url(self, tmp_path):
        (tmp_path / "openapi.json").write_text('{"info": {"version": "3"}}')
        handler = functools.partial(_Quiet, directory=tmp_path)
        with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            try:
                assert read_document(f"http://127.0.0.1:{server.server_port}/openapi.json").version == "3"
            finally:
                server.shutdown()
                thread.join()

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            *((text, "openapi is no OpenAPI") for text in ("{", "- [", "{}", '{"info": 1}', "[]")),
            (None, "FileNotFound"),
        ],
    )
    def test_what_is_no_document_or_missing_is_refused(self, tmp_path, text, why):
        if text:
            (tmp_path / "openapi").write_text(text)
        with pytest.raises(SchemaError, match=why):
            read_document(str(tmp_path / "openapi"))


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class TestOverlay:
    def test_a_bound_of_a_member_becomes_an_entry_with_its_source(self):
        schemas = {"CreateResponse": {"properties": {"temperature": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}}
        spec = document(CreateResponse={"properties": {"temperature": {"type": "number", "minimum": 0, "maximum": 2}}})
        assert json.loads(render_bounds_overlay(schemas, spec)) == [
            {
                "at": "CreateResponse#/properties/temperature/anyOf/0",
                "merge": {"minimum": 0, "maximum": 2},
                "source": ["openapi 2.3.0 01234567#/components/schemas/CreateResponse/properties/temperature"],
                "level": "documented",
            }
        ]

    def test_an_overlay_without_bounds_is_an_empty_list(self):
        body = {"type": "object"}
        assert json.loads(render_bounds_overlay({"CreateResponse": body}, document(CreateResponse=body))) == []

    def test_a_definition_that_roots_share_is_one_entry(self):
        body = sdk({"properties": {"a": {"$ref": "#/$defs/A"}}}, A={"properties": {"n": TEXT}})
        spec = {"properties": {"a": {"properties": {"n": {**TEXT, "maxLength": 5}}}}}
        assert entries({"Thread": body, "Run": body}, document(ThreadObject=spec, RunObject=spec)) == {
            ("$defs/A#/properties/n",): {"maxLength": 5}
        }

    def test_a_root_made_from_a_shared_definition_is_addressed_by_it(self):
        definition = {"properties": {"n": TEXT}}
        schemas = {
            "Run": {"title": "Run", **definition},
            "RunStep": sdk({"properties": {"r": {"$ref": "#/$defs/Run"}}}, Run=definition),
        }
        bounded = {"properties": {"n": {**TEXT, "minLength": 1}}}
        assert entries(schemas, document(RunObject=bounded, RunStepObject={"properties": {"r": bounded}})) == {
            ("$defs/Run#/properties/n",): {"minLength": 1}
        }

    def test_paths_that_disagree_give_no_bound(self):
        body = sdk(
            {"properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/A"}}}, A={"properties": {"n": TEXT}}
        )
        loose, tight = {"properties": {"n": TEXT}}, {"properties": {"n": {**TEXT, "maxLength": 5}}}
        assert entries({"Run": body}, document(RunObject={"properties": {"a": loose, "b": tight}})) == {}

    def test_roots_that_disagree_narrow_the_entry(self):
        body = sdk({"properties": {"a": {"$ref": "#/$defs/A"}}}, A={"properties": {"n": TEXT}})
        loose, tight = ({"properties": {"a": {"properties": {"n": n}}}} for n in (TEXT, {**TEXT, "maxLength": 5}))
        assert entries({"Run": body, "Thread": body}, document(RunObject=loose, ThreadObject=tight)) == {
            ("$defs/A#/properties/n", "Thread"): {"maxLength": 5}
        }

    def test_a_definition_with_another_body_is_left_alone(self):
        one = sdk({"properties": {"a": {"$ref": "#/$defs/A"}}}, A={"properties": {"n": TEXT}})
        other = sdk({"properties": {"a": {"$ref": "#/$defs/A"}}}, A={"properties": {"m": TEXT}})
        spec = {"properties": {"a": {"properties": {"n": {**TEXT, "maxLength": 5}}}}}
        assert entries({"Run": one, "Thread": other}, document(RunObject=spec)) == {
            ("$defs/A#/properties/n", "Run"): {"maxLength": 5}
        }

    def test_the_parameters_of_a_query_are_its_members(self):
        parameters = [{"in": "query", "name": "limit", "schema": {"type": "integer", "maximum": 100}}]
        parameters.append({"in": "path", "name": "response_id", "schema": TEXT})
        spec = OpenApiDocument({"paths": {"/responses/{response_id}": {"get": {"parameters": parameters}}}}, "1", "ab")
        assert entries({"RetrieveResponse": {"properties": {"limit": {"type": "integer"}}}}, spec) == {
            ("RetrieveResponse#/properties/limit",): {"maximum": 100}
        }


A, AB = ({"properties": {"s": {"type": "string", "enum": [*values]}}} for values in ("a", "ab"))
BRANCHES = tuple({"anyOf": [{"properties": {"type": {"const": tag}}} for tag in tags]} for tags in ("a", "ab"))
MEMBERS = tuple({"properties": dict.fromkeys(names, TEXT)} for names in ("a", "ab"))


class TestDifferences:
    @pytest.mark.parametrize(
        ("ours", "theirs", "change"),
        [
            (*BRANCHES, ("Run", "added", "branch b (#/components/schemas/RunObject/anyOf/1)")),
            (A, AB, ("Run#/properties/s", "added", "value 'b'")),
            (*MEMBERS, ("Run", "added", "member 'b'")),
            (MEMBERS[0], {**MEMBERS[0], "required": ["a"]}, ("Run", "added", "required 'a'")),
            ({**MEMBERS[0], "required": ["a"]}, MEMBERS[0], ("Run", "removed", "required 'a'")),
        ],
        ids=["a branch", "a value", "a member", "a member only it requires", "a member only the schemas require"],
    )
    def test_what_differs_from_the_document_is_listed(self, ours, theirs, change):
        (found,) = list_changes({"Run": ours}, document(RunObject=theirs))
        assert (found.pointer, found.kind, found.text) == change

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [({}, {"type": "object"}), ({"properties": {"s": {"anyOf": [TEXT, *A["properties"].values()]}}}, AB)],
        ids=["a place that accepts anything has every branch", "an open name has every value"],
    )
    def test_what_accepts_more_lacks_nothing(self, ours, theirs):
        assert list_changes({"Run": ours}, document(RunObject=theirs)) == []

    def test_a_root_the_document_lacks(self):
        assert list_changes({"Run": {}, "New": {}}, document()) == [
            Change("New", "", "removed", "the document does not have this root"),
            Change("Run", "#/components/schemas/RunObject", "removed", "the document does not have this root"),
        ]

    def test_what_roots_share_is_reported_once(self):
        body = sdk({"properties": {"a": {"$ref": "#/$defs/A"}}}, A={"properties": {"n": TEXT}})
        spec = {"properties": {"a": {"properties": {"n": TEXT, "m": TEXT}}}}
        assert list_changes({"Run": body, "Thread": body}, document(RunObject=spec, ThreadObject=spec)) == [
            Change("Run, Thread", "$defs/A", "added", "member 'm'")
        ]
