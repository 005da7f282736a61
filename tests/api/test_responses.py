"""`include`: what an answer shows of its items, and what a list shows of an input."""

from typing import Any, NamedTuple

import pytest

from harness.api.responses import filter_item, infer_include
from harness.contract.rules.request.input_items.images import PNG
from harness.items import (
    code_interpreter_call,
    file_search_call,
    message,
    open_page,
    reasoning,
    search,
    web_search_call,
)
from harness.items.kind import Item
from tests.support.in_process import Client, user

FOUND = [{"file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": "rain", "attributes": {}}]
LOGPROBS = [{"token": "Hi.", "logprob": -0.5, "bytes": [72, 105, 46], "top_logprobs": []}]
SOURCES = [{"type": "url", "url": "https://e.org"}]


class Hidden(NamedTuple):
    """A member of an item: what must be included to see it, the whole of it, and what is shown without that."""

    item: Item
    name: str
    member: str
    whole: Any
    veil: Any


SEARCHED = {"type": "search", "queries": ["rain"], "query": "rain"}
TEXT = {"type": "output_text", "annotations": [], "text": "Hi."}
HIDDEN = {
    "files": Hidden(file_search_call("rain", results=FOUND), "file_search_call.results", "results", FOUND, None),
    "code": Hidden(
        code_interpreter_call("1", outputs=["1"]),
        "code_interpreter_call.outputs",
        "outputs",
        [{"type": "logs", "logs": "1"}],
        None,
    ),
    "sources": Hidden(
        web_search_call(search("rain", sources=["https://e.org"])),
        "web_search_call.action.sources",
        "action",
        {**SEARCHED, "sources": SOURCES},
        SEARCHED,
    ),
    "logprobs": Hidden(
        message("Hi.", logprobs=LOGPROBS),
        "message.output_text.logprobs",
        "content",
        [{**TEXT, "logprobs": LOGPROBS}],
        [{**TEXT, "logprobs": []}],
    ),
}


@pytest.fixture
def client() -> Client:
    made = Client()
    search = {"type": "file_search", "vector_store_ids": [made.mock.vector_store()]}
    made.tools = [search, {"type": "code_interpreter", "container": {"type": "auto"}}, {"type": "web_search"}]
    return made


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
class TestAnOutput:
    def test_an_output_is_hidden_unless_included(self, client: Client, hidden: Hidden) -> None:
        client.mock.script(hidden.item, hidden.item)
        assert client.ask().body["output"][0][hidden.member] == hidden.veil
        assert client.ask(include=[hidden.name]).body["output"][0][hidden.member] == hidden.whole

    def test_an_output_is_the_same_in_a_stream(self, client: Client, hidden: Hidden) -> None:
        client.mock.script(hidden.item, hidden.item)
        for include, shown in (([], hidden.veil), ([hidden.name], hidden.whole)):
            done = [event for event in client.ask(stream=True, include=include).events or () if "item" in event][-1]
            assert done["item"][hidden.member] == shown

    def test_an_output_is_shown_by_a_retrieve_that_includes_it(self, client: Client, hidden: Hidden) -> None:
        client.mock.script(hidden.item, hidden.item)
        id = client.ask().body["id"]
        assert client.send(f"GET /responses/{id}").body["output"][0][hidden.member] == hidden.veil
        included = client.send(f"GET /responses/{id}", include=[hidden.name]).body["output"][0]
        assert included[hidden.member] == hidden.whole
        asked = client.ask(include=[hidden.name]).body["id"]
        assert client.send(f"GET /responses/{asked}").body["output"][0][hidden.member] == hidden.whole

    def test_an_output_is_shown_by_a_conversation_that_includes_it(self, client: Client, hidden: Hidden) -> None:
        id = client.send("POST /conversations", {}).body["id"]
        client.mock.script(hidden.item)
        client.ask(conversation=id)
        assert client.send(f"GET /conversations/{id}/items").body["data"][0][hidden.member] == hidden.veil
        (said, _) = client.send(f"GET /conversations/{id}/items", include=[hidden.name]).body["data"]
        assert said[hidden.member] == hidden.whole
        path = f"GET /conversations/{id}/items/{said['id']}"
        assert client.send(path, include=[hidden.name]).body[hidden.member] == hidden.whole
        assert client.send(path).body[hidden.member] == hidden.veil

    def test_an_output_tells_what_must_have_been_included(self, client: Client, hidden: Hidden) -> None:
        assert infer_include([{"type": hidden.item.type, hidden.member: hidden.whole}]) == [hidden.name]
        assert infer_include([{"type": hidden.item.type, hidden.member: hidden.veil}]) == []


def test_what_is_included_and_not_there_is_empty(client: Client) -> None:
    client.mock.script([file_search_call("a"), code_interpreter_call("1"), web_search_call("a")])
    names = ["file_search_call.results", "code_interpreter_call.outputs", "web_search_call.action.sources"]
    files, code, web = client.ask(include=names).body["output"]
    assert (files["results"], code["outputs"], web["action"]["sources"]) == ([], [], [])


def test_only_a_search_has_sources(client: Client) -> None:
    client.mock.script([web_search_call(open_page("https://e.org")), web_search_call()])
    page, none = client.ask(include=["web_search_call.action.sources"]).body["output"]
    assert page["action"] == {"type": "open_page", "url": "https://e.org"}
    assert "action" not in none


def test_results_of_a_web_search_are_left_out() -> None:
    call = {"type": "web_search_call", "results": [{"url": "https://e.org"}]}
    assert filter_item(call, []) == {"type": "web_search_call"}
    assert filter_item(call, ["web_search_call.results"]) is call


def test_a_ciphertext_of_the_script_is_always_shown(client: Client) -> None:
    client.mock.script(reasoning(encrypted_content="gAAAAAB"))
    assert client.ask(model="gpt-5").body["output"][0]["encrypted_content"] == "gAAAAAB"


class TestAnInput:
    def test_an_input_is_listed_without_addresses_of_images_and_data_of_files(self, client: Client) -> None:
        file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}
        parts = [{"type": "input_text", "text": "See."}, file, {"type": "input_image", "image_url": PNG}]
        id = client.ask([user(parts)]).body["id"]
        (item,) = client.send(f"GET /responses/{id}/input_items").body["data"]
        assert item["content"] == [
            parts[0],
            {"type": "input_file", "file_id": None, "filename": "a.pdf"},
            {"type": "input_image", "detail": "auto", "file_id": None, "image_url": None},
        ]
        shown = client.send(f"GET /responses/{id}/input_items", include=["message.input_image.image_url"]).body["data"][
            0
        ]
        assert shown["content"][2]["image_url"] == PNG
        assert client.ask(previous_response_id=id).status == 200

    def test_an_input_of_a_screen_is_listed_without_its_address(self) -> None:
        output = {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": PNG}}
        assert filter_item(output, [])["output"] == {"type": "computer_screenshot", "image_url": None}
        assert filter_item(output, ["computer_call_output.output.image_url"]) is output
