"""Items that most scripts have: what their builders put on the wire, and what they refuse."""

import pytest

import harness.items as items
from harness.core.errors import RegistrationError, ScriptError
from harness.core.ids import Ids
from harness.items import (
    by_agent,
    container_file_citation,
    file_citation,
    file_path,
    function_call,
    message,
    output_text,
    reasoning,
    refusal,
    shell_call,
    url_citation,
)
from harness.items.kind import ITEMS, Item, item, item_from_wire, render_item
from harness.items.stream_elements import StreamedText
from tests.support.registries import restored_items
from tests.support.wired import wire

NOW = 1788812320


def text_part(text, annotations=(), logprobs=()):
    return {"type": "output_text", "annotations": list(annotations), "logprobs": list(logprobs), "text": text}


def wired(type, **members):
    return item_from_wire({"type": type, **members})


def note(annotation, text="Rain is likely."):
    return message(text, annotations=[annotation]).members["content"][0]["annotations"][0]


# The wire form


def test_a_message_on_the_wire():
    said = wire(message("hi"))
    assert list(said) == ["id", "type", "status", "content", "role"]
    assert list(said["content"][0]) == ["type", "annotations", "logprobs", "text"]
    assert said.pop("id").startswith("msg_")
    assert said == {"type": "message", "status": "completed", "content": [text_part("hi")], "role": "assistant"}


def test_a_function_call_on_the_wire():
    called = wire(function_call("get_weather", {"city": "Paris"}, call_id="call_1", namespace="travel"))
    assert list(called) == ["id", "type", "status", "arguments", "call_id", "name", "namespace"]
    assert (called["arguments"], called["call_id"]) == ('{"city":"Paris"}', "call_1")
    assert called["id"].startswith("fc_")


def test_reasoning_on_the_wire_has_no_status():
    thought = wire(reasoning("**Planning**", encrypted_content="gAAAAAB", content=[]))
    assert list(thought) == ["id", "type", "content", "encrypted_content", "summary"]
    assert thought["summary"] == [{"type": "summary_text", "text": "**Planning**"}]
    assert thought["id"].startswith("rs_")


def test_a_call_id_is_given_out_with_the_ids():
    ids = Ids("items")
    first, second = (render_item(function_call("f"), ids, "resp_1", NOW)["call_id"] for _ in range(2))
    assert first.startswith("call_")
    assert first != second


def test_the_same_item_can_be_given_out_twice_without_sharing():
    said = message("hi")
    first, second = wire(said), wire(said)
    first["content"][0]["text"] = "changed"
    assert second["content"][0]["text"] == "hi"
    assert said.members["content"][0]["text"] == "hi"


# message


def test_a_message_has_a_part_an_argument():
    said = message("Hi", refusal("No."), output_text("Bye"), ["a", "b"])
    assert [part.get("text", part.get("refusal")) for part in said.members["content"]] == ["Hi", "No.", "Bye", "ab"]
    assert said.deltas == {("output_text", 3): ("a", "b")}


def test_a_message_may_be_empty():
    assert message().members["content"] == [text_part("")]


def test_a_list_of_str_is_the_exact_deltas():
    said = message(["Hel", "lo"])
    assert said.members["content"] == [text_part("Hello")]
    assert said.deltas == {("output_text", 0): ("Hel", "lo")}


def test_a_refusal_has_deltas_too():
    assert message(refusal(["I ", "can't."])).deltas == {("refusal", 0): ("I ", "can't.")}


def test_phase_stands_between_content_and_role():
    assert list(message("hm", phase="commentary").members) == ["content", "phase", "role"]


def test_logprobs_belong_to_the_text():
    entry = {"token": "hi", "logprob": -0.5, "bytes": [104, 105], "top_logprobs": []}
    assert message("hi", logprobs=[entry]).members["content"] == [text_part("hi", logprobs=[entry])]


# annotations


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (
            url_citation("https://e.org", "Forecast", 0, 4),
            {"type": "url_citation", "end_index": 4, "start_index": 0, "title": "Forecast", "url": "https://e.org"},
        ),
        (
            container_file_citation("cntr_1", "cfile_1", "sums.csv", cite="likely"),
            {
                "type": "container_file_citation",
                "container_id": "cntr_1",
                "end_index": 14,
                "file_id": "cfile_1",
                "filename": "sums.csv",
                "start_index": 8,
            },
        ),
        (
            file_citation("file-1", "care.pdf", 14),
            {"type": "file_citation", "file_id": "file-1", "filename": "care.pdf", "index": 14},
        ),
        (file_path("file-1", cite="Rain"), {"type": "file_path", "file_id": "file-1", "index": 4}),
    ],
)
def test_the_four_annotations(annotation, expected):
    assert note(annotation) == expected
    assert list(note(annotation)) == list(expected)


def test_an_annotation_without_place_covers_the_whole_text():
    assert note(url_citation("https://example.org", "T"))["end_index"] == len("Rain is likely.")
    assert note(file_path("file-1"))["index"] == len("Rain is likely.")


def test_places_count_characters():
    assert note(url_citation("https://example.org", "T", cite="sun"), "🌦️ and sun")["start_index"] == 7


def test_an_annotation_fits_a_text_that_is_given_as_deltas():
    said = message(["Rain ", "is"], annotations=[file_path("file-1", cite="Rain is")])
    assert said.members["content"][0]["annotations"][0]["index"] == 7


# function_call


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({}, "{}"),
        ({"a": [1, 2.5, None], "b": "é"}, '{"a":[1,2.5,null],"b":"é"}'),
        ('{"broken": ', '{"broken": '),
        (['{"a"', ":1}"], '{"a":1}'),
    ],
)
def test_arguments_are_written_as_models_write_them(given, written):
    assert function_call("f", given).members["arguments"] == written


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: function_call("x", name="y"), "function_call: multiple values for argument 'name'. Its arguments: "),
        (lambda: function_call("x", argments={}), "unexpected keyword argument 'argments'. Did you mean 'arguments'?"),
        (lambda: function_call(), "function_call: missing a required argument: 'name'. Its arguments: name, "),
        (lambda: message("\ud800"), "message: str is not valid UTF-8: surrogates not allowed. Pass plain JSON values"),
    ],
)
def test_wrong_arguments_of_a_builder_are_named(build, said):
    with pytest.raises(ScriptError) as raised:
        build()
    assert said in str(raised.value)


def test_exact_deltas_of_arguments():
    assert function_call("f", ["{", "}"]).deltas == {("function_call_arguments", 0): ("{", "}")}


# reasoning


def test_each_text_is_a_part():
    thought = reasoning(["a", ["b", "c"]], content="raw")
    assert [part["text"] for part in thought.members["summary"]] == ["a", "bc"]
    assert thought.members["content"] == [{"type": "reasoning_text", "text": "raw"}]
    assert thought.deltas == {("reasoning_summary_text", 1): ("b", "c")}


# What is wrong is said

INPUT_TEXT = {"type": "input_text"}


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: message(3), "message: text is 3. Pass a str"),
        (lambda: message(["a", 1]), "message: text is ['a', 1]"),
        (lambda: message("hi", INPUT_TEXT), "message: content[1] is {'type': 'input_text'}. Its type is one"),
        (lambda: message("hi", phase="thinking"), "phase is 'thinking'. Use one of: commentary, final_answer"),
        (lambda: message(refusal("no"), annotations=[file_path("f")]), "Pass them to output_text("),
        (lambda: message(refusal("no"), logprobs=[{}]), "Pass them to output_text("),
        (lambda: message(refusal(7)), "message: refusal is 7. Pass a str, or a list of str"),
        (lambda: message("\ud83d"), "message: str is not valid UTF-8"),
        (lambda: note({"type": "url"}), "annotations[0].type is 'url'. Use one of: container_"),
        (lambda: note(url_citation("u", "t", 3, 99)), "annotations[0].end_index is 99. This text allows 3 to 15"),
        (lambda: note(url_citation("u", "t", -1, 2)), "annotations[0].start_index is -1"),
        (lambda: note(url_citation("u", "t", 5, 2)), "annotations[0].end_index is 2. This text allows 5 to 15"),
        (lambda: note(file_citation("f", "n", 16)), "annotations[0].index is 16"),
        (lambda: note(file_citation("f", "n", "1")), "annotations[0].index is '1'"),
        (lambda: note(file_path("f", cite="snow")), "annotations[0] cites 'snow', but the text is 'Rain is likely.'"),
        (lambda: function_call("f", 3), "function_call: arguments is 3"),
        (lambda: function_call("f", {"a": {1}}), "function_call: arguments cannot be serialized to JSON"),
        (lambda: function_call("f", {"a": float("nan")}), "function_call: arguments cannot be serialized to JSON"),
        (lambda: function_call(""), "function_call: name is ''"),
        (lambda: function_call("f", call_id={1}), "Pass plain JSON values"),
        (lambda: reasoning([1]), "reasoning: text is 1"),
        (lambda: item_from_wire({"type": "mesage"}), "type is 'mesage'. An item's type is one of: "),
        (lambda: item_from_wire("hi"), "'hi' is not an item. Pass an object with a 'type'"),
        (lambda: item_from_wire({"type": []}), "type is []"),
        (lambda: shell_call(5), "shell_call: 'int' object is not iterable. Its arguments: (commands: "),
        (lambda: by_agent("/root", "hi"), "agent: 'hi' is not an item. Pass one such as message('Hi.')"),
        (lambda: function_call("\ud800"), "function_call: name: str is not valid UTF-8"),
        (lambda: item_from_wire({"type": "web_search_call", "x": float("inf")}), "web_search_call: Out of range float"),
        (lambda: wired("message", content="hi"), "message: content is 'hi'. Pass a list of parts"),
        (lambda: wired("message", content=[{"type": "output_text"}]), "message: text is None. Pass a str"),
        (lambda: wired("function_call", name="f"), "function_call: arguments is None. Pass a str"),
    ],
)
def test_what_cannot_be_built_is_a_script_error(build, words):
    with pytest.raises(ScriptError) as error:
        build()
    assert words in str(error.value)


# A recorded item is a turn


@pytest.mark.parametrize(
    "made",
    [message("Hi", refusal("No.")), function_call("f", {"a": 1}, call_id="call_1"), reasoning(["a", "b"], content=[])],
)
def test_a_wire_item_becomes_the_item_it_was_made_of(made):
    assert item_from_wire(wire(made)) == made


def test_a_wire_item_may_hold_deltas():
    made = wired("message", role="assistant", content=[{"type": "refusal", "refusal": ["N", "o"]}])
    assert made.members["content"] == [{"type": "refusal", "refusal": "No"}]
    assert made.deltas == {("refusal", 0): ("N", "o")}


def test_a_wire_item_written_by_hand_may_leave_things_out():
    said = wired("message", content=[{"text": "hi", "type": "output_text"}])
    assert said == message("hi")
    assert list(wire(said)["content"][0]) == ["type", "annotations", "logprobs", "text"]
    assert wired("function_call", name="f", arguments="{}") == function_call("f")
    assert wired("reasoning") == reasoning()


# Declaring kinds


@pytest.fixture
def registry():
    with restored_items():
        ITEMS.pop("custom_tool_call", None)
        yield ITEMS


def test_a_kind_is_one_function(registry):
    @item("ctc", StreamedText("input", "custom_tool_call_input"))
    def custom_tool_call(name, text):
        """The model calls a tool with free text."""
        return {"call_id": None, "input": text, "name": name}

    made = custom_tool_call("run_sql", ["SELECT", " 1;"])
    assert made == Item(
        "custom_tool_call",
        {"call_id": None, "input": "SELECT 1;", "name": "run_sql"},
        {("custom_tool_call_input", 0): ("SELECT", " 1;")},
    )
    assert ITEMS.find("custom_tool_call").doc == "The model calls a tool with free text."
    assert list(wire(made)) == ["id", "type", "status", "call_id", "input", "name"]


def test_a_kind_needs_a_docstring(registry):
    with pytest.raises(RegistrationError, match="@item nameless has no docstring"):

        @item("x")
        def nameless():
            return {}


def test_a_kind_is_declared_once(registry):
    with pytest.raises(RegistrationError, match=r"item kind message in .* is declared twice"):

        @item("msg")
        def message():
            """Another one."""


@pytest.mark.parametrize(("name", "words"), [("mesage", "Did you mean 'message'"), ("🌦️", "The nearest of 48 are ")])
def test_an_unknown_kind_is_named_with_the_nearest(name, words):
    with pytest.raises(RegistrationError, match=words):
        ITEMS.find(name)


def test_every_builder_is_public_and_documented():
    for name in items.__all__:
        assert getattr(items, name).__doc__
    assert {"function_call", "message", "reasoning"} <= set(ITEMS) & set(items.__all__)


class TestAMessageOfTextAlone:
    """`is_text`: whatever the request and the World are, it stays as it is."""

    @pytest.mark.parametrize("said", [message("hi"), message(["h", "i"]), message(refusal("No."))])
    def test_a_message_of_text_alone_is_one(self, said: Item) -> None:
        assert said.is_text

    @pytest.mark.parametrize(
        "said",
        [
            function_call("f", {}),
            reasoning("Hm."),
            message("hi", annotations=[file_path("file-1", index=0)]),
            Item("message", {"role": "assistant", "content": "hi"}),
            Item("message", {"role": "assistant", "content": [], "agent": {"agent_name": "/root"}}),
        ],
    )
    def test_a_message_of_anything_else_is_no_text_alone(self, said: Item) -> None:
        assert not said.is_text
