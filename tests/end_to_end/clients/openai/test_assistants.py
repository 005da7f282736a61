"""What the unmodified `openai` SDK gets from the Assistants API: calls, polling, streams and their event handlers."""

from __future__ import annotations

import openai
import pytest
from openai import AssistantEventHandler, AsyncAssistantEventHandler

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
    """An assistant, and a thread with one message."""
    made = client.beta.assistants.create(model="gpt-4o", name="Ann", **assistant)
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Weather?"}])
    return made, thread


def test_every_resource_can_be_made_read_changed_listed_and_deleted(mock, client):
    assistant, thread = started(client, instructions="Be brief.")
    changed = client.beta.assistants.update(assistant.id, description="A helper.", metadata={"a": "b"})
    assert client.beta.assistants.retrieve(assistant.id) == changed
    assert [each.id for each in client.beta.assistants.list(limit=5)] == [assistant.id]
    added = client.beta.threads.messages.create(thread.id, role="user", content=[{"type": "text", "text": "And?"}])
    client.beta.threads.messages.update(added.id, thread_id=thread.id, metadata={"a": "b"})
    assert client.beta.threads.messages.retrieve(added.id, thread_id=thread.id).metadata == {"a": "b"}
    assert [each.content[0].text.value for each in client.beta.threads.messages.list(thread.id, order="asc")] == [
        "Weather?",
        "And?",
    ]
    assert client.beta.threads.messages.delete(added.id, thread_id=thread.id).deleted
    assert client.beta.threads.update(thread.id, metadata={"c": "d"}).metadata == {"c": "d"}
    assert client.beta.threads.retrieve(thread.id).metadata == {"c": "d"}
    assert client.beta.threads.delete(thread.id).deleted
    assert client.beta.assistants.delete(assistant.id).deleted
    with pytest.raises(openai.NotFoundError, match=f"No thread found with id '{thread.id}'."):
        client.beta.threads.retrieve(thread.id)


def test_lists_are_paged_as_long_as_there_is_more(mock, client):
    thread = client.beta.threads.create(messages=[{"role": "user", "content": str(number)} for number in range(5)])
    found = [each.content[0].text.value for each in client.beta.threads.messages.list(thread.id, limit=2)]
    assert found == ["4", "3", "2", "1", "0"]


def test_a_run_is_polled_until_it_has_ended(mock, client):
    mock.script(message("Sunny."))
    assistant, thread = started(client)
    run = client.beta.threads.runs.create_and_poll(
        assistant_id=assistant.id, thread_id=thread.id, poll_interval_ms=1, temperature=0.5
    )
    assert (run.status, run.temperature, run.usage.total_tokens > 0) == ("completed", 0.5, True)
    newest = next(iter(client.beta.threads.messages.list(thread.id, run_id=run.id)))
    assert (newest.role, newest.content[0].text.value) == ("assistant", "Sunny.")
    (step,) = client.beta.threads.runs.steps.list(run.id, thread_id=thread.id)
    assert step.step_details.message_creation.message_id == newest.id
    assert client.beta.threads.runs.steps.retrieve(step.id, thread_id=thread.id, run_id=run.id) == step
    assert [each.id for each in client.beta.threads.runs.list(thread.id)] == [run.id]


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


def test_a_raw_stream_is_what_the_api_sends(mock, client):
    mock.script(message(["Hel", "lo."]), message("Hello."))
    assistant, thread = started(client)
    with client.beta.threads.runs.create(thread.id, assistant_id=assistant.id, stream=True) as stream:
        events = list(stream)
    assert [event.data.delta.content[0].text.value for event in events if event.event == "thread.message.delta"] == [
        "Hel",
        "lo.",
    ]
    raw = client.beta.threads.runs.with_raw_response.create(thread.id, assistant_id=assistant.id)
    assert (raw.status_code, raw.headers["openai-version"], raw.parse().status) == (200, "2020-10-01", "queued")


def test_a_run_can_be_cancelled_and_another_begun(mock, client):
    mock.script(message("Late."), message("Sunny."))
    assistant, thread = started(client)
    run = client.beta.threads.runs.create(thread.id, assistant_id=assistant.id)
    with pytest.raises(openai.BadRequestError, match=f"Thread {thread.id} already has an active run {run.id}."):
        client.beta.threads.runs.create(thread.id, assistant_id=assistant.id)
    with pytest.raises(
        openai.BadRequestError, match=f"Can't add messages to {thread.id} while a run {run.id} is active."
    ):
        client.beta.threads.messages.create(thread.id, role="user", content="Hm?")
    assert client.beta.threads.runs.cancel(run.id, thread_id=thread.id).status == "cancelling"
    assert client.beta.threads.runs.poll(run.id, thread_id=thread.id, poll_interval_ms=1).status == "cancelled"
    assert client.beta.threads.runs.create(thread.id, assistant_id=assistant.id).status == "queued"


def test_without_the_api_everything_is_not_found(mock, client):
    mock.organization(assistants="gone")
    with pytest.raises(openai.NotFoundError, match=r"Invalid URL \(GET /v1/assistants\)"):
        client.beta.assistants.list()


def test_the_header_is_requested(mock, client):
    with pytest.raises(openai.BadRequestError, match="You must provide the 'OpenAI-Beta' header") as refused:
        client.beta.threads.create(extra_headers={"OpenAI-Beta": ""})
    assert refused.value.code == "invalid_beta"


class HeardLater(AsyncAssistantEventHandler):
    def __init__(self):
        super().__init__()
        self.text = []

    async def on_text_delta(self, delta, snapshot):
        self.text.append(delta.value)


@pytest.mark.asyncio
async def test_the_async_client_gets_the_same(mock, async_client):
    mock.script(message("Sunny."), message(["Sun", "ny."]))
    client = async_client.beta
    assistant = await client.assistants.create(model="gpt-4o", instructions="Be brief.")
    run = await client.threads.create_and_run_poll(assistant_id=assistant.id, poll_interval_ms=1)
    (added,) = [each async for each in client.threads.messages.list(run.thread_id)]
    assert (run.status, added.content[0].text.value) == ("completed", "Sunny.")
    async with client.threads.runs.stream(
        thread_id=run.thread_id, assistant_id=assistant.id, event_handler=HeardLater()
    ) as stream:
        await stream.until_done()
    assert stream.text == ["Sun", "ny."]
