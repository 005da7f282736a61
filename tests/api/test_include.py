"""`include`: what an answer shows of its items, and what a list shows of an input."""

from __future__ import annotations

from typing import Any

import pytest

from harness.api.include import filter_item, infer_include
from harness.items import (
    code_interpreter_call,
    file_search_call,
    message,
    open_page,
    reasoning,
    search,
    web_search_call,
)
from tests.support.in_process import Client

FOUND = [{"file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": "rain", "attributes": {}}]
LOGPROBS = [{"token": "Hi.", "logprob": -0.5, "bytes": [72, 105, 46], "top_logprobs": []}]
SOURCES = [{"type": "url", "url": "https://e.org"}]

HIDDEN = [
    pytest.param(
        file_search_call("rain", results=FOUND), "file_search_call.results", "results", FOUND, None, id="files"
    ),
    pytest.param(
        code_interpreter_call("1", outputs=["1"]),
        "code_interpreter_call.outputs",
        "outputs",
        [{"type": "logs", "logs": "1"}],
        None,
        id="code",
    ),
    pytest.param(
        web_search_call(search("rain", sources=["https://e.org"])),
        "web_search_call.action.sources",
        "action",
        {"type": "search", "queries": ["rain"], "query": "rain", "sources": SOURCES},
        {"type": "search", "queries": ["rain"], "query": "rain"},
        id="sources",
    ),
    pytest.param(
        message("Hi.", logprobs=LOGPROBS),
        "message.output_text.logprobs",
        "content",
        [{"type": "output_text", "annotations": [], "logprobs": LOGPROBS, "text": "Hi."}],
        [{"type": "output_text", "annotations": [], "logprobs": [], "text": "Hi."}],
        id="logprobs",
    ),
]


@pytest.fixture
def one() -> Client:
    made = Client()
    search = {"type": "file_search", "vector_store_ids": [made.mock.vector_store()]}
    made.tools = [search, {"type": "code_interpreter", "container": {"type": "auto"}}, {"type": "web_search"}]
    return made


@pytest.mark.parametrize(("item", "name", "member", "whole", "veil"), HIDDEN)
class TestAnOutput:
    def test_is_hidden_unless_included(
        self, one: Client, item: Any, name: str, member: str, whole: Any, veil: Any
    ) -> None:
        one.mock.script(item, item)
        assert one.ask().body["output"][0][member] == veil
        assert one.ask(include=[name]).body["output"][0][member] == whole

    def test_is_told_alike_by_a_stream(
        self, one: Client, item: Any, name: str, member: str, whole: Any, veil: Any
    ) -> None:
        one.mock.script(item, item)
        for include, shown in (([], veil), ([name], whole)):
            done = [event for event in one.ask(stream=True, include=include).events or () if "item" in event][-1]
            assert done["item"][member] == shown

    def test_is_shown_by_a_retrieve_that_includes_it(
        self, one: Client, item: Any, name: str, member: str, whole: Any, veil: Any
    ) -> None:
        one.mock.script(item, item)
        id = one.ask().body["id"]
        assert one.send(f"GET /responses/{id}").body["output"][0][member] == veil
        assert one.send(f"GET /responses/{id}", include=[name]).body["output"][0][member] == whole
        asked = one.ask(include=[name]).body["id"]
        assert one.send(f"GET /responses/{asked}").body["output"][0][member] == whole

    def test_is_shown_by_a_conversation_that_includes_it(
        self, one: Client, item: Any, name: str, member: str, whole: Any, veil: Any
    ) -> None:
        id = one.send("POST /conversations", {}).body["id"]
        one.mock.script(item)
        one.ask(conversation=id)
        assert one.send(f"GET /conversations/{id}/items").body["data"][0][member] == veil
        (said, _) = one.send(f"GET /conversations/{id}/items", include=[name]).body["data"]
        assert said[member] == whole
        assert one.send(f"GET /conversations/{id}/items/{said['id']}", include=[name]).body[member] == whole
        assert one.send(f"GET /conversations/{id}/items/{said['id']}").body[member] == veil

    def test_tells_what_must_have_been_included(
        self, one: Client, item: Any, name: str, member: str, whole: Any, veil: Any
    ) -> None:
        assert infer_include([{"type": item.type, member: whole}]) == [name]
        assert infer_include([{"type": item.type, member: veil}]) == []


def test_what_is_included_and_not_there_is_empty(one: Client) -> None:
    one.mock.script([file_search_call("a"), code_interpreter_call("1"), web_search_call("a")])
    names = ["file_search_call.results", "code_interpreter_call.outputs", "web_search_call.action.sources"]
    files, code, web = one.ask(include=names).body["output"]
    assert (files["results"], code["outputs"], web["action"]["sources"]) == ([], [], [])


def test_only_a_search_has_sources(one: Client) -> None:
    one.mock.script([web_search_call(open_page("https://e.org")), web_search_call()])
    page, none = one.ask(include=["web_search_call.action.sources"]).body["output"]
    assert page["action"] == {"type": "open_page", "url": "https://e.org"}
    assert "action" not in none


def test_results_of_a_web_search_are_left_out() -> None:
    call = {"type": "web_search_call", "results": [{"url": "https://e.org"}]}
    assert filter_item(call, []) == {"type": "web_search_call"}
    assert filter_item(call, ["web_search_call.results"]) is call


def test_a_ciphertext_of_the_script_is_always_shown(one: Client) -> None:
    one.mock.script(reasoning(encrypted_content="gAAAAAB"))
    assert one.ask(model="gpt-5").body["output"][0]["encrypted_content"] == "gAAAAAB"


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
)


class TestAnInput:
    def test_is_listed_without_addresses_of_images_and_data_of_files(self, one: Client) -> None:
        file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}
        parts = [{"type": "input_text", "text": "See."}, file, {"type": "input_image", "image_url": PIXEL}]
        id = one.ask([{"role": "user", "content": parts}]).body["id"]
        (item,) = one.send(f"GET /responses/{id}/input_items").body["data"]
        assert item["content"] == [
            parts[0],
            {"type": "input_file", "file_id": None, "filename": "a.pdf"},
            {"type": "input_image", "detail": "auto", "file_id": None, "image_url": None},
        ]
        shown = one.send(f"GET /responses/{id}/input_items", include=["message.input_image.image_url"]).body["data"][0]
        assert shown["content"][2]["image_url"] == PIXEL
        assert one.ask(previous_response_id=id).status == 200

    def test_of_a_screen_is_listed_without_its_address(self) -> None:
        output = {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": PIXEL}}
        assert filter_item(output, [])["output"] == {"type": "computer_screenshot", "image_url": None}
        assert filter_item(output, ["computer_call_output.output.image_url"]) is output
