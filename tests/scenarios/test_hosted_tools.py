"""Stories of the tools that the API runs itself, and of what a client asks to see of them."""

from __future__ import annotations

import base64

import openai
import pytest

from harness.items import computer_call, file_search_call, image_generation_call, message
from harness.items.image import ONE_PIXEL_PNG
from tests.support.streams import tokens

SCREENSHOT = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{ONE_PIXEL_PNG}"}
COMPUTER = {"type": "computer"}
HOURS = "We open at nine."


def store_of(client, *texts):
    """Return a vector store with a file for each text."""
    store = client.vector_stores.create(name="manual")
    for number, text in enumerate(texts):
        file = client.files.create(file=(f"{number}.txt", text.encode()), purpose="assistants")
        client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id)
    return store


class TestFileSearch:
    def ask(self, client, store, **more):
        tool = {"type": "file_search", "vector_store_ids": [store.id]}
        return client.responses.create(model="gpt-4.1", input="When do you open?", tools=[tool], **more)

    def found(self, client, store):
        (file,) = client.vector_stores.files.list(store.id).data
        return {"file_id": file.id, "filename": "0.txt", "score": 0.9, "text": HOURS, "attributes": {}}

    def test_results_are_hidden_unless_they_are_included(self, mock, client):
        store = store_of(client, HOURS)
        call = file_search_call("opening hours", results=[self.found(client, store)])
        mock.script([call, message("At nine.")], [call, message("At nine.")])
        assert self.ask(client, store).output[0].results is None
        shown = self.ask(client, store, include=["file_search_call.results"])
        assert [(result.filename, result.text) for result in shown.output[0].results] == [("0.txt", HOURS)]
        assert shown.output_text == "At nine."

    def test_what_was_hidden_can_be_included_later(self, mock, client):
        store = store_of(client, HOURS)
        mock.script([file_search_call("opening hours", results=[self.found(client, store)]), message("At nine.")])
        first = self.ask(client, store)
        later = client.responses.retrieve(first.id, include=["file_search_call.results"])
        assert later.output[0].results[0].text == HOURS

    def test_a_search_without_a_store_is_refused(self, mock, client):
        tool = {"type": "file_search", "vector_store_ids": []}
        with mock.refuses("vector_store_ids"), pytest.raises(openai.BadRequestError):
            client.responses.create(model="gpt-4.1", input="When?", tools=[tool])


class TestImageGeneration:
    def test_partial_images_come_before_the_image(self, mock, client):
        mock.script(
            image_generation_call([ONE_PIXEL_PNG, ONE_PIXEL_PNG, ONE_PIXEL_PNG], revised_prompt="A blue square.")
        )
        stream = client.responses.create(
            model="gpt-4.1",
            input="Draw a blue square.",
            tools=[{"type": "image_generation", "partial_images": 2}],
            stream=True,
        )
        events = list(stream)
        partial = [event for event in events if event.type == "response.image_generation_call.partial_image"]
        assert [event.partial_image_index for event in partial] == list(range(len(partial)))
        (item,) = events[-1].response.output
        assert base64.b64decode(item.result).startswith(b"\x89PNG")
        assert item.revised_prompt == "A blue square."

    def test_an_image_is_edited_by_its_reference(self, mock, client):
        mock.script(image_generation_call(), message("It is red now."))
        tools = [{"type": "image_generation"}]
        first = client.responses.create(model="gpt-4.1", input="Draw a square.", tools=tools)
        drawn = {"type": "image_generation_call", "id": first.output[0].id}
        asked = [{"role": "user", "content": "Make it red."}, drawn]
        second = client.responses.create(model="gpt-4.1", input=asked, tools=tools)
        assert second.output_text == "It is red now."


class TestComputerUse:
    def test_each_call_is_answered_with_a_screenshot(self, mock, client):
        mock.script(
            computer_call([{"type": "click", "button": "left", "x": 1, "y": 2}], call_id="call_1"),
            computer_call([{"type": "screenshot"}], call_id="call_2"),
            message("Done."),
        )
        turn = client.responses.create(model="gpt-5.4", input="Press the button.", tools=[COMPUTER])
        seen = []
        while calls := [item for item in turn.output if item.type == "computer_call"]:
            seen += [action.type for call in calls for action in call.actions]
            outputs = [
                {"type": "computer_call_output", "call_id": call.call_id, "output": SCREENSHOT} for call in calls
            ]
            turn = client.responses.create(
                model="gpt-5.4", input=outputs, tools=[COMPUTER], previous_response_id=turn.id
            )
        assert (seen, turn.output_text) == (["click", "screenshot"], "Done.")

    def test_a_model_without_the_tool_refuses_it(self, mock, client):
        old = {"type": "computer_use_preview", "display_width": 800, "display_height": 600, "environment": "browser"}
        with mock.refuses("tool_unsupported"), pytest.raises(openai.BadRequestError, match=r"with gpt-4\.1\."):
            client.responses.create(model="gpt-4.1", input="Press the button.", tools=[old])


class TestLogprobs:
    def test_they_are_those_of_the_text_if_they_are_included(self, mock, client):
        said = message("At nine.", logprobs=tokens("At", " nine", "."))
        mock.script(said, said)
        asked = {"model": "gpt-4.1", "input": "When?"}
        assert not client.responses.create(**asked).output[0].content[0].logprobs
        include = ["message.output_text.logprobs"]
        shown = client.responses.create(**asked, include=include).output[0].content[0].logprobs
        assert "".join(entry.token for entry in shown) == "At nine."

    def test_a_reasoning_model_has_none(self, mock, client):
        with mock.refuses("logprobs are not supported"), pytest.raises(openai.BadRequestError):
            client.responses.create(model="o4-mini", input="When?", include=["message.output_text.logprobs"])


class TestUploads:
    def test_parts_become_a_file_that_a_message_shows(self, mock, client):
        parts = [b"%PDF-1.4\n", b"%%EOF\n"]
        size = sum(map(len, parts))
        upload = client.uploads.create(bytes=size, filename="a.pdf", mime_type="application/pdf", purpose="user_data")
        ids = [client.uploads.parts.create(upload.id, data=part).id for part in parts]
        file = client.uploads.complete(upload.id, part_ids=ids).file
        mock.script(message("An empty page."))
        shown = {"type": "input_file", "file_id": file.id}
        answer = client.responses.create(model="gpt-4.1", input=[{"role": "user", "content": [shown]}])
        assert (file.bytes, answer.output_text) == (size, "An empty page.")

    def test_an_upload_that_was_cancelled_takes_no_part(self, mock, client):
        upload = client.uploads.create(bytes=3, filename="a.txt", mime_type="text/plain", purpose="assistants")
        assert client.uploads.cancel(upload.id).status == "cancelled"
        with mock.refuses("upload"), pytest.raises(openai.BadRequestError):
            client.uploads.parts.create(upload.id, data=b"abc")
