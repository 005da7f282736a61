"""Stories of the tools that the API runs itself, and of what a client asks to see of them."""

from harness.items import computer_call, image_generation_call, message
from harness.items.hosted import ONE_PIXEL_PNG

SCREENSHOT = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{ONE_PIXEL_PNG}"}


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
