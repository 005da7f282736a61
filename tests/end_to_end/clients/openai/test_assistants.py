"""What the helpers of the SDK make of a run: outputs, streams, event handlers; `test_sdk_surface` calls all the rest."""

import openai
import pytest
from openai import AssistantEventHandler

from harness.items import code_interpreter_call, file_citation, file_search_call, function_call, message

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the SDK calls all of it deprecated

FUNCTION = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}
CITED = message(
    "Store cold【4:0†guide.txt】.", annotations=[file_citation("file-1", "guide.txt", cite="【4:0†guide.txt】")]
)


class Heard(AssistantEventHandler):
    """Everything an event handler is told of."""

    def __init__(self):
        super().__init__()
        self.event_names, self.text, self.calls = [], [], []

    def on_event(self, event):
        self.event_names.append(event.event)

    def on_text_delta(self, delta, snapshot):
        self.text.append(delta.value)

    def on_text_done(self, text):
        self.whole = text

    def on_tool_call_done(self, tool_call):
        self.calls.append(tool_call)

    def on_message_done(self, message):
        self.message = message


def started(client, **assistant):
    """Return an assistant, and a thread with one message."""
    made = client.beta.assistants.create(model="gpt-4o", name="Ann", **assistant)
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Weather?"}])
    return made, thread


def test_outputs_are_submitted_and_the_run_is_polled_on(mock, client):
    mock.script([function_call("get_weather", {"city": city}) for city in ("Oslo", "Rome")], message("4 and 18."))
    assistant, thread = started(client, tools=[FUNCTION])
    run = client.beta.threads.runs.create_and_poll(assistant_id=assistant.id, thread_id=thread.id, poll_interval_ms=1)
    assert run.status == "requires_action"
    calls = run.required_action.submit_tool_outputs.tool_calls
    assert [call.function.arguments for call in calls] == ['{"city":"Oslo"}', '{"city":"Rome"}']
    with pytest.raises(openai.BadRequestError) as refused:
        client.beta.threads.runs.submit_tool_outputs(
            run.id, thread_id=thread.id, tool_outputs=[{"tool_call_id": calls[0].id, "output": "4"}]
        )
    assert refused.value.message.count(calls[0].id) == 2
    outputs = [{"tool_call_id": call.id, "output": "4"} for call in calls]
    run = client.beta.threads.runs.submit_tool_outputs_and_poll(
        run_id=run.id, thread_id=thread.id, tool_outputs=outputs, poll_interval_ms=1
    )
    assert run.status == "completed"
    steps = list(client.beta.threads.runs.steps.list(run.id, thread_id=thread.id, order="asc"))
    assert [call.function.output for call in steps[0].step_details.tool_calls] == ["4", "4"]


def test_a_handler_hears_text_and_citations(mock, client):
    mock.script([file_search_call("cold"), CITED])
    assistant, thread = started(client, tools=[{"type": "file_search"}])
    with client.beta.threads.runs.stream(
        thread_id=thread.id, assistant_id=assistant.id, event_handler=Heard()
    ) as stream:
        stream.until_done()
        run = stream.current_run
    assert "".join(stream.text) == stream.whole.value == "Store cold【4:0†guide.txt】."
    (note,) = stream.whole.annotations
    assert (note.file_citation.file_id, note.start_index, note.end_index) == ("file-1", 10, 25)
    assert stream.message.content[0].text.annotations[0].text == "【4:0†guide.txt】"
    assert (stream.calls[0].type, run.status) == ("file_search", "completed")
    assert stream.event_names[:3] == ["thread.run.created", "thread.run.queued", "thread.run.in_progress"]
    assert stream.event_names[-1] == "thread.run.completed"


def test_the_snapshots_of_a_stream_add_up(mock, client):
    mock.script([code_interpreter_call(["print", "(5)"], outputs=["5"]), message(["It is", " 5."])])
    assistant, _ = started(client, tools=[{"type": "code_interpreter"}])
    with client.beta.threads.create_and_run_stream(
        assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "2+3?"}]}
    ) as stream:
        assert list(stream.text_deltas) == ["It is", " 5."]
        (added,) = stream.get_final_messages()
        first, _ = stream.get_final_run_steps()
    assert added.content[0].text.value == "It is 5."
    assert first.step_details.tool_calls[0].code_interpreter.input == "print(5)"
    assert first.step_details.tool_calls[0].code_interpreter.outputs[0].logs == "5"


def test_a_stream_goes_on_after_the_outputs(mock, client):
    mock.script(function_call("get_weather", {}, call_id="call_a"), message(["4."]))
    assistant, thread = started(client, tools=[FUNCTION])
    with client.beta.threads.runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream:
        (call,) = stream.get_final_run().required_action.submit_tool_outputs.tool_calls
        run = stream.current_run
    assert (call.id, call.function.name) == ("call_a", "get_weather")
    with client.beta.threads.runs.submit_tool_outputs_stream(
        thread_id=thread.id, run_id=run.id, tool_outputs=[{"tool_call_id": "call_a", "output": "4"}]
    ) as stream:
        assert list(stream.text_deltas) == ["4."]
        assert stream.get_final_run().status == "completed"
