"""Runs of assistants on threads, and their steps: the next turn of the script, streamed or polled.

A turn is taken when a run is created, and again for each answer to its required action.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.answers.assistants_run_events import RunWriter, complete_step, count_step_usage
from harness.api.classic import PROJECT_TYPES
from harness.api.operations import Cursors, operation
from harness.api.pages import page
from harness.api.resources import assistants
from harness.api.resources.assistants import DONE_EVENT, Thread, make_event
from harness.api.tokens import estimate_tokens
from harness.core.errors import ScriptError
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import omit
from harness.ending import split_ending
from harness.endpoints.threads import CODE_INTERPRETER_RESOURCES, add_messages, find_thread, start_thread
from harness.faults import ScriptedRefusal
from harness.faults.transmission import apply_faults
from harness.world.api_call import ApiCall
from harness.world.background import advance_run
from harness.world.world import World

RUNS = "/threads/{thread_id}/runs"
RUN = f"{RUNS}/{{run_id}}"
STEPS = f"{RUN}/steps"
SEARCH_CONTENT = "step_details.tool_calls[*].file_search.results[*].content"


@operation("POST", "/threads/runs", body="CreateThreadAndRun", answer="Run")
def create_with_thread(call: ApiCall) -> Answer:
    """Create a thread, and a run on it."""
    body = call.members
    thread = start_thread(body.get("thread") or {}, call.world)
    thread.object = {**thread.object, "tool_resources": thread.object["tool_resources"] or CODE_INTERPRETER_RESOURCES}
    return _create_run(thread, body, call.request, call.world, [make_event("thread.created", thread.object)])


@operation("POST", RUNS, body="CreateRun", answer="Run")
def create(call: ApiCall) -> Answer:
    """Create a run on a thread, after adding the body's messages to it."""
    body, thread = call.members, find_thread(call)
    call.world.tick()
    before = dict(thread.messages)
    add_messages(thread, body.get("additional_messages") or (), call.world)
    try:
        return _create_run(thread, body, call.request, call.world, [])
    except ScriptedRefusal:
        thread.messages = before  # a refused request changes nothing
        raise


def _create_run(thread: Thread, body: Json, request: Request, world: World, before: list[Json]) -> Answer:
    assistant = world.store.assistants[body["assistant_id"]]
    run = assistants.new_run(body, assistant, thread.object["id"], world.ids, world.now)
    events = [*before, make_event("thread.run.created", run), make_event("thread.run.queued", run)]
    return _run_next_turn(thread, run, events, request, world)


def _run_next_turn(thread: Thread, run: Json, events: Sequence[Json], request: Request, world: World) -> Answer:
    """Run the next turn of a queued run: to its end in a stream, otherwise as far as a client would see it now."""
    known = {step["id"]: step for step in thread.steps_of(run["id"])}
    known |= {event["data"]["id"]: event["data"] for event in events if "step" in event["event"]}
    read = _build_model_request(thread, run, list(known.values()), world)
    taken = world.script.next(ApiCall(request._replace(body=read), world))
    turn, ending = split_ending(taken.lines)
    # A run has members of its own, which no turn of a script sets.
    if ending.own:
        raise ScriptError(f"{taken.place}: {', '.join(ending.own)} is of a response; a run counts its own.")
    writer = RunWriter(run, world.ids, world.now, _count_prompt_tokens(read), world.citations)
    written = [*events, *writer.write_turn(turn, list(known.values()), ending)]
    taken.check(_as_checked(read), turn, ending, tuple)
    streamed = bool(request.body.get("stream"))
    now = thread.start_run(run["id"], written, at_once=streamed)
    seen = [*(_render_stream_event(event, request.query) for event in written), DONE_EVENT] if streamed else None
    answer = Answer(200, now, events=seen)
    return apply_faults(answer, taken.lines, world.gate) if taken.has_faults else answer


def _as_checked(read: Json) -> Json:
    """Return the model's request with the tools of classic agents under the names that their items have.

    `tool_choice` applies to the first turn of a run; after that the model may answer.
    """
    tools = [{**tool, "type": PROJECT_TYPES.get(tool["type"], tool["type"])} for tool in read["tools"]]
    read = {**read, "tools": tools}
    called = read["input"] and read["input"][-1]["type"].endswith("_call_output")
    return {**read, "tool_choice": "auto"} if called and read["tool_choice"] != "none" else read


def _build_model_request(thread: Thread, run: Json, steps: Sequence[Json], world: World) -> Json:
    """Build the model's request as one to `POST /responses`; a deleted assistant has no name any more."""
    assistant = world.store.assistants.get(run["assistant_id"]) or {"name": None}
    return assistants.as_responses_body(run, assistant, thread.messages.values(), steps)


def _count_prompt_tokens(read: Json) -> int:
    """Count the tokens that a model reads."""
    return estimate_tokens([*read["input"], *([{"text": read["instructions"]}] if read["instructions"] else ())])


def _render_stream_event(event: Json, query: Mapping[str, Any]) -> Json:
    if event["event"] != "thread.run.step.completed":
        return event
    return {**event, "data": _filter_search_content(event["data"], query)}


@operation(
    "GET",
    RUNS,
    query="ListRuns",
    answer="RunList",
    cursors=Cursors("run", lambda request, world: find_thread(ApiCall(request, world)).runs),
)
def list_all(call: ApiCall) -> Answer:
    """List the runs of a thread, newest first unless `order=asc`."""
    return Answer(200, page(list(find_thread(call).runs.values()), call.query))


@operation("GET", RUN, answer="Run")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a run; one in progress is advanced first, unless the World is not `automatic`."""
    thread, id = find_thread(call), call.params["run_id"]
    if call.world.automatic and id in thread.pending_events:
        return Answer(200, advance_run(call.world, call.params["thread_id"], id))
    return Answer(200, thread.runs[id])


@operation("POST", RUN, body="UpdateRun", answer="Run")
def update(call: ApiCall) -> Answer:
    """Replace the metadata of a run."""
    runs, id = find_thread(call).runs, call.params["run_id"]
    if "metadata" in call.body:
        runs[id] = {**runs[id], "metadata": assistants.keep_metadata(call.body["metadata"])}
    return Answer(200, runs[id])


@operation("POST", f"{RUN}/cancel", answer="Run")
def cancel(call: ApiCall) -> Answer:
    """Start cancelling a run."""
    return Answer(200, find_thread(call).cancel_run(call.params["run_id"], call.world.tick()))


@operation("POST", f"{RUN}/submit_tool_outputs", body="SubmitToolOutputs", answer="Run")
def submit_tool_outputs(call: ApiCall) -> Answer:
    """Submit the required action of a run: the outputs of its calls, or the approval to make them."""
    thread, body = find_thread(call), call.members
    run = {**thread.runs[call.params["run_id"]], "status": "queued", "required_action": None}
    outputs = {output["tool_call_id"]: output.get("output", "") for output in body.get("tool_outputs") or ()}
    now, steps = call.world.tick(), thread.steps_of(run["id"])
    waiting = [step for step in steps if step["status"] == "in_progress"]
    prompt = _count_prompt_tokens(
        _build_model_request(thread, run, [step for step in steps if step not in waiting], call.world)
    )
    ended = [make_event("thread.run.step.completed", _complete_step(step, outputs, prompt, now)) for step in waiting]
    return _run_next_turn(thread, run, [*ended, make_event("thread.run.queued", run)], call.request, call.world)


def _complete_step(step: Json, outputs: Mapping[str, Any], prompt: int, now: int) -> Json:
    """Complete a step whose calls the client has answered."""
    calls = [_set_output(call, outputs) for call in step["step_details"]["tool_calls"]]
    made = [call.get("function", call) for call in calls]
    return complete_step(step, {**step["step_details"], "tool_calls": calls}, now, count_step_usage(prompt, made))


def _set_output(call: Json, outputs: Mapping[str, Any]) -> Json:
    kind = call["type"]
    if kind not in ("function", assistants.COMPUTER_USE):
        return call
    return {**call, kind: {**call[kind], "output": outputs.get(call["id"], "")}}


@operation(
    "GET",
    STEPS,
    query="ListRunSteps",
    answer="RunStepList",
    cursors=Cursors("run step", lambda request, world: find_thread(ApiCall(request, world)).steps),
)
def list_steps(call: ApiCall) -> Answer:
    """List the steps of a run, newest first unless `order=asc`."""
    steps = find_thread(call).steps_of(call.params["run_id"])
    return Answer(200, page([_render_step(step, call.query) for step in steps], call.query))


@operation("GET", f"{STEPS}/{{step_id}}", query="RetrieveRunStep", answer="RunStep")
def retrieve_step(call: ApiCall) -> Answer:
    """Retrieve a step of a run."""
    return Answer(200, _render_step(find_thread(call).steps[call.params["step_id"]], call.query))


def _render_step(step: Json, query: Mapping[str, Any]) -> Json:
    """Render a step as it is retrieved; recorded: a completed one does not expire, unlike in the stream."""
    return _filter_search_content({**step, "expires_at": None} if step["status"] == "completed" else step, query)


def _filter_search_content(step: Json, query: Mapping[str, Any]) -> Json:
    """Drop the search results' text from a step unless `include` requests it."""
    calls = step["step_details"].get("tool_calls")
    if not calls or SEARCH_CONTENT in (query.get("include") or ()):
        return step
    return {
        **step,
        "step_details": {**step["step_details"], "tool_calls": [_drop_search_content(call) for call in calls]},
    }


def _drop_search_content(call: Json) -> Json:
    if call["type"] != "file_search":
        return call
    found = call["file_search"].get("results") or ()
    results = [omit(result, "content") for result in found]
    return {**call, "file_search": {**call["file_search"], "results": results}}
