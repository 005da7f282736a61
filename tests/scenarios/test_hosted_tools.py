"""Stories of the tools that the API runs itself, and of what a client asks to see of them."""

import base64

from harness.items import computer_call, file_search_call, image_generation_call, message
from harness.items.hosted import ONE_PIXEL_PNG
from tests.support.streams import tokens

SCREENSHOT = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{ONE_PIXEL_PNG}"}
HOURS = "We open at nine."


def test_results_of_a_file_search_are_hidden_unless_they_are_included(mock, client):
    store = client.vector_stores.create(name="manual")
    file = client.files.create(file=("hours.txt", HOURS.encode()), purpose="assistants")
    client.vector_stores.files.create_and_poll(file.id, vector_store_id=store.id)
    found = {"file_id": file.id, "filename": "hours.txt", "score": 0.9, "text": HOURS, "attributes": {}}
    said = [file_search_call("opening hours", results=[found]), message("At nine.")]
    mock.script(said, said)
    tool = {"type": "file_search", "vector_store_ids": [store.id]}
    asked = {"model": "gpt-4.1", "input": "When do you open?", "tools": [tool]}
    include = ["file_search_call.results"]
    hidden, shown = client.responses.create(**asked), client.responses.create(**asked, include=include)
    later = client.responses.retrieve(hidden.id, include=include)
    assert (hidden.output[0].results, shown.output_text) == (None, "At nine.")
    assert [response.output[0].results[0].to_dict() for response in (shown, later)] == [found, found]


def test_partial_images_come_before_the_image(mock, client):
    mock.script(image_generation_call([ONE_PIXEL_PNG] * 2, revised_prompt="A blue square."))
    tool = {"type": "image_generation", "partial_images": 2}
    events = list(client.responses.create(model="gpt-4.1", input="Draw a blue square.", tools=[tool], stream=True))
    partial = [event for event in events if event.type == "response.image_generation_call.partial_image"]
    assert [event.partial_image_index for event in partial] == [0, 1]
    (item,) = events[-1].response.output
    assert base64.b64decode(item.result).startswith(b"\x89PNG")
    assert item.revised_prompt == "A blue square."


def test_an_image_is_edited_by_its_reference(mock, client):
    mock.script(image_generation_call(), message("It is red now."))
    tools = [{"type": "image_generation"}]
    first = client.responses.create(model="gpt-4.1", input="Draw a square.", tools=tools)
    drawn = {"type": "image_generation_call", "id": first.output[0].id}
    asked = [{"role": "user", "content": "Make it red."}, drawn]
    assert client.responses.create(model="gpt-4.1", input=asked, tools=tools).output_text == "It is red now."


def test_each_call_of_a_computer_is_answered_with_a_screenshot(mock, client):
    click = {"type": "click", "button": "left", "x": 1, "y": 2}
    mock.script(computer_call([click]), computer_call([{"type": "screenshot"}]), message("Done."))
    asked = {"model": "gpt-5.4", "tools": [{"type": "computer"}]}
    turn, seen = client.responses.create(**asked, input="Press the button."), []
    while calls := [item for item in turn.output if item.type == "computer_call"]:
        seen += [action.type for call in calls for action in call.actions]
        outputs = [{"type": "computer_call_output", "call_id": call.call_id, "output": SCREENSHOT} for call in calls]
        turn = client.responses.create(**asked, input=outputs, previous_response_id=turn.id)
    assert (seen, turn.output_text) == (["click", "screenshot"], "Done.")


def test_logprobs_are_those_of_the_text_if_they_are_included(mock, client):
    said = message("At nine.", logprobs=tokens("At", " nine", "."))
    mock.script(said, said)
    asked = {"model": "gpt-4.1", "input": "When?"}
    assert not client.responses.create(**asked).output[0].content[0].logprobs
    shown = client.responses.create(**asked, include=["message.output_text.logprobs"]).output[0].content[0].logprobs
    assert "".join(entry.token for entry in shown) == "At nine."


def test_parts_of_an_upload_become_a_file_that_a_message_shows(mock, client):
    parts = [b"%PDF-1.4\n", b"%%EOF\n"]
    size = sum(map(len, parts))
    upload = client.uploads.create(bytes=size, filename="a.pdf", mime_type="application/pdf", purpose="user_data")
    ids = [client.uploads.parts.create(upload.id, data=part).id for part in parts]
    file = client.uploads.complete(upload.id, part_ids=ids).file
    mock.script(message("An empty page."))
    shown = {"type": "input_file", "file_id": file.id}
    answer = client.responses.create(model="gpt-4.1", input=[{"role": "user", "content": [shown]}])
    assert (file.bytes, answer.output_text) == (size, "An empty page.")
