"""What the API says itself as turns of a script: its JSON, objects of an SDK, a whole response; in each form of script."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from openai.types.responses import ParsedResponse, Response, ResponseOutputItem
from pydantic import BaseModel, Field, TypeAdapter

from harness.core.errors import ScriptError
from harness.core.exchange import Json, Request
from harness.core.ids import Ids
from harness.items import (
    code_interpreter_call,
    custom_tool_call,
    file_search_call,
    function_call,
    image_generation_call,
    mcp_approval_request,
    mcp_call,
    message,
    reasoning,
    shell_call,
    url_citation,
    web_search_call,
)
from harness.items.kind import Item, render_item
from harness.server.mock_api import MockApi
from harness.world.api_call import ApiCall
from harness.world.mock import Mock
from harness.world.script import Script
from harness.world.scripting.document import parse_sent_script
from harness.world.scripting.load import load_script_file
from harness.world.world import World
from tests.support.in_process import post

ITEMS = [
    message("Hi.", annotations=[url_citation("https://example.org", "A guide", 0, 2)]),
    message("Hm.", phase="commentary"),
    reasoning("**Planning**"),
    function_call("f", {"a": 1}, call_id="call_1"),
    custom_tool_call("sh", "ls", call_id="call_1"),
    mcp_call("prod", "deploy", {}, output="live"),
    mcp_approval_request("prod", "deploy", {}),
    web_search_call("news"),
    file_search_call("news"),
    code_interpreter_call("1 + 1", container_id="cntr_1"),
    image_generation_call(),
    shell_call(["ls"], call_id="call_1"),
]
ASKED = ApiCall(Request("POST", "/responses", {}, {}, {"model": "gpt-4.1", "input": "x"}), World())
ITEM: TypeAdapter[Any] = TypeAdapter(ResponseOutputItem)


def wire(item: Item) -> Json:
    return render_item(item, Ids("pasted"), "resp_0", 0)


def scripted(*turns: Any) -> list[list[Any]]:
    script = Script()
    script.add(turns)
    return [script.next(ASKED).lines for _ in turns]


def response(**members: Any) -> Json:
    api = MockApi()
    api.open("sk-a").script(reasoning("**Planning**"), message('{"city":"Paris"}'))
    answers = [post(api, {"model": "gpt-4.1", "input": "x"}, key="sk-a").body for _ in range(2)]
    return {**answers[1], "output": [item for answer in answers for item in answer["output"]], **members}


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.type)
class TestAnItem:
    def test_as_json(self, item: Item) -> None:
        assert scripted(wire(item)) == [[item]]

    def test_as_an_object_of_the_sdk(self, item: Item) -> None:
        assert scripted(ITEM.validate_python(wire(item))) == [[item]]

    def test_as_its_dump_which_has_members_that_no_answer_had(self, item: Item) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert scripted(ITEM.validate_python(wire(item)).model_dump()) == [[item]]
            assert scripted(ITEM.validate_python(wire(item)).model_dump(mode="json", by_alias=True)) == [[item]]


OUTPUT = [reasoning("**Planning**"), message('{"city":"Paris"}')]
FORMS = {
    "json": lambda made: made,
    "sdk": Response.model_validate,
    "sdk, parsed": ParsedResponse[Any].model_validate,
    "dump": lambda made: Response.model_validate(made).model_dump(),
    "dump, parsed": lambda made: ParsedResponse[Any].model_validate(made).model_dump(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
class TestAWholeResponse:
    def test_a_whole_response_is_its_output(self, form: Any) -> None:
        assert scripted(form(response())) == [OUTPUT]

    def test_a_whole_response_has_its_ending(self, form: Any) -> None:
        details = {"incomplete_details": {"reason": "content_filter"}}
        [[*output, ending]] = scripted(form(response(status="incomplete", **details)))
        assert (output, ending.status, ending.members) == (OUTPUT, "incomplete", details)

    def test_a_whole_response_that_failed(self, form: Any) -> None:
        error = {"code": "server_error", "message": "Gone."}
        [[ending]] = scripted(form(response(status="failed", error=error, output=[])))
        assert (ending.status, ending.members) == ("failed", {"error": error})

    def test_a_whole_response_of_which_the_output_is_a_turn_and_each_item_is_one(self, form: Any) -> None:
        made = form(response())
        output = made["output"] if isinstance(made, dict) else made.output
        assert scripted(output) == [OUTPUT]
        assert scripted(*output) == [[item] for item in OUTPUT]


def test_a_function_may_return_objects_of_the_sdk() -> None:
    assert scripted(lambda request: Response.model_validate(response())) == [OUTPUT]


def test_what_the_sdk_has_parsed_is_no_part_of_the_answer() -> None:
    made = response()
    made["output"][1]["content"][0]["parsed"] = {"city": "Paris"}
    made["output"].append({**wire(function_call("f", {}, call_id="call_1")), "parsed_arguments": {}})
    assert scripted(made) == [[*OUTPUT, function_call("f", {}, call_id="call_1")]]


@pytest.mark.parametrize(
    "turn", [{"message": "Hi."}, wire(message("Hi.")), response(output=[wire(message("Hi."))])], ids=str
)
def test_each_form_is_the_same_in_python_yaml_and_over_http(turn: Json, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text(json.dumps({"script": [turn]}))
    (tmp_path / "script.py").write_text(f"null, true, false = None, True, False\nscript = {turn!r}")
    worlds = [World() for _ in range(4)]
    load_script_file(tmp_path / "script.yaml").apply(Mock(worlds[0]))
    load_script_file(tmp_path / "script.py").apply(Mock(worlds[1]))
    parse_sent_script({"turns": [turn]}).apply(Mock(worlds[2]))
    Mock(worlds[3]).script(turn)
    assert [world.script.next(ASKED).lines for world in worlds] == [[message("Hi.")]] * 4


ENDED: Json = {"output": [], "status": "completed"}
FAILED: Json = {"status": "failed", "error": {}}
CUT_OFF: Json = {"output": [], "status": "incomplete"}


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        ({"typ": "message"}, "script: typ: no item 'typ'."),
        ({}, "script: {} is not an item."),
        ({"message": "a", "reasoning": "b"}, 'script: {"message": "a", "reasoning": "b"} is not an item.'),
        ({"massage": "a"}, "script: massage: no item 'massage'. Did you mean 'message'?"),
        ({"message": {"txt": "a"}}, "script: message.txt: no message argument 'txt'. Did you mean 'text'?"),
        ({"type": "massage"}, "script: type is 'massage'. An item's type is one of:"),
        ({"type": 5}, "script: type is 5. Pass a text."),
        ({"type": "message", "content": 5}, "script: message: content is 5. Pass a list of parts."),
        ({"type": "message", "content": [{"type": "output_txt", "text": "a"}]}, "script: message: content[0] is"),
        ({"type": "function_call", "name": 5, "arguments": ""}, "script: function_call is not valid output of the API"),
        ({"type": "message", "content": {1, 2}}, "script: Type is not JSON serializable: set. Pass plain JSON values"),
        ({**ENDED, "status": "queued"}, 'script: status: status is "queued". A turn is a response that has ended:'),
        ({"output": 5, "status": "completed"}, "script: output: output is 5. Pass a list"),
        ({"output": [{"type": "massage"}], "status": "completed"}, "script: output[0]: type is 'massage'."),
        ({"output": [5], "status": "completed"}, "script: output[0]: 5 is not an item."),
        (CUT_OFF, "script: incomplete_details: incomplete_details is null. Pass an object"),
        (
            {**CUT_OFF, "incomplete_details": {"reason": "x"}},
            "script: incomplete_details: incomplete: reason is 'x'. Use one of:",
        ),
        ({**ENDED, "output": None}, "is an empty turn. Pass an item; for a response without output use empty(): "),
        ([{**FAILED, "output": [{"message": "a"}]}, "x"], "is not the last line of its turn. Give it last"),
    ],
    ids=str,
)
def test_an_invalid_line_is_reported_with_its_place_and_the_reason(turn: Any, says: str) -> None:
    with pytest.raises(ScriptError, match=r"^script: ") as told:
        scripted(turn)
    assert says in str(told.value)


class Weather(BaseModel):
    city: str
    degrees: float = Field(default=18.5, alias="temp")


class TestAMessage:
    @pytest.mark.parametrize("data", [Weather(city="Zürich"), {"city": "Zürich", "temp": 18.5}], ids=["model", "dict"])
    def test_a_message_of_data_is_its_json(self, data: Any) -> None:
        assert message(data) == message('{"city":"Zürich","temp":18.5}')
        assert function_call("f", data).members["arguments"] == '{"city":"Zürich","temp":18.5}'
        assert message("Here:", data).members["content"][1]["text"] == '{"city":"Zürich","temp":18.5}'

    def test_a_message_of_data_may_have_a_type_of_its_own(self) -> None:
        assert message({"type": "circle", "r": 1}) == message('{"type":"circle","r":1}')

    def test_a_message_of_data_is_the_same_in_a_document(self) -> None:
        world = World()
        parse_sent_script({"turns": [{"message": {"text": {"city": "Paris"}}}]}).apply(Mock(world))
        assert world.script.next(ASKED).lines == [message('{"city":"Paris"}')]

    @pytest.mark.parametrize("kind", ["input_text", "text", "summary_text"])
    def test_part_of_another_kind_is_refused(self, kind: str) -> None:
        with pytest.raises(ScriptError, match=r"^message: content\[0\] is .* Its type is one of: output_text, refusal"):
            message({"type": kind, "text": "a"})

    @pytest.mark.parametrize("data", [{"a": {1}}, {"a": float("nan")}, {"a": object()}], ids=["set", "nan", "object"])
    def test_a_message_of_what_json_cannot_say_is_refused(self, data: Any) -> None:
        with pytest.raises(
            ScriptError, match=r"^message: text cannot be serialized to JSON: .* Pass plain JSON values"
        ):
            message(data)

    def test_a_message_of_an_object_that_does_not_dump_itself_says_what_it_raised(self) -> None:
        class Odd:
            def model_dump(self) -> Json:
                return {}

        with pytest.raises(ScriptError, match=r"^message: Odd\.model_dump\(\) raised TypeError: .* Pass its JSON"):
            message(Odd())


def test_a_class_is_no_object() -> None:
    with pytest.raises(ScriptError, match=r"is a class, so not a turn\. Pass an instance"):
        scripted(Weather)
