"""`/threads` and `/threads/{thread_id}/messages`: create, list, retrieve, update and delete."""

from collections.abc import Sequence

from harness.api.operations import Cursors, operation
from harness.api.pages import page
from harness.api.resources import assistants
from harness.api.resources.assistants import Thread
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall
from harness.world.world import World

CODE_INTERPRETER_RESOURCES: Json = {"code_interpreter": {"file_ids": []}}

MESSAGES = "/threads/{thread_id}/messages"
MESSAGE = f"{MESSAGES}/{{message_id}}"


@operation("POST", "/threads", body="CreateThread", answer="Thread")
def create(call: ApiCall) -> Answer:
    """Create a thread, with its initial messages."""
    return Answer(200, start_thread(call.members, call.world).object)


def start_thread(body: Json, world: World) -> Thread:
    """Create a thread and store it."""
    made = Thread(assistants.new_thread(body, world.ids, world.tick(), world.uploads.add_store))
    world.store.threads[made.object["id"]] = made
    add_messages(made, body.get("messages") or (), world)
    return made


def add_messages(thread: Thread, messages: Sequence[Json], world: World) -> Sequence[Json]:
    """Add the client's messages to a thread; returns them as stored."""
    made = [assistants.new_message(message, thread.object["id"], world.ids, world.now) for message in messages]
    thread.messages.update((thread_message["id"], thread_message) for thread_message in made)
    return made


@operation("GET", "/threads/{thread_id}", answer="Thread")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a thread; recorded: without resources it shows those of a code interpreter."""
    known = find_thread(call).object
    return Answer(200, {**known, "tool_resources": known["tool_resources"] or CODE_INTERPRETER_RESOURCES})


@operation("POST", "/threads/{thread_id}", body="UpdateThread", answer="Thread")
def update(call: ApiCall) -> Answer:
    """Replace the metadata or the resources of a thread; members missing in the body stay unchanged."""
    thread = find_thread(call)
    changes = {name: value or {} for name, value in call.body.items()}
    if "metadata" in changes:
        changes["metadata"] = assistants.keep_metadata(changes["metadata"])
    thread.object = thread.object | changes
    return Answer(200, thread.object)


@operation("DELETE", "/threads/{thread_id}", answer="ThreadDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete a thread with its messages and runs."""
    id = call.params["thread_id"]
    del call.store.threads[id]
    return Answer(200, {"id": id, "object": "thread.deleted", "deleted": True})


def find_thread(call: ApiCall) -> Thread:
    """Return the thread in the path."""
    return call.store.threads[call.params["thread_id"]]


@operation("POST", MESSAGES, body="CreateMessage", answer="Message")
def create_message(call: ApiCall) -> Answer:
    """Add a message to a thread."""
    call.world.tick()
    (made,) = add_messages(find_thread(call), [call.members], call.world)
    return Answer(200, made)


@operation(
    "GET",
    MESSAGES,
    query="ListMessages",
    answer="MessageList",
    cursors=Cursors("message", lambda request, world: find_thread(ApiCall(request, world)).messages),
)
def list_messages(call: ApiCall) -> Answer:
    """List the messages of a thread, newest first unless `order=asc`; with `run_id`, those of that run."""
    found = list(find_thread(call).messages.values())
    if run_id := call.query.get("run_id"):
        found = [message for message in found if message["run_id"] == run_id]
    return Answer(200, page(found, call.query))


@operation("GET", MESSAGE, answer="Message")
def retrieve_message(call: ApiCall) -> Answer:
    """Retrieve a message."""
    return Answer(200, _find_message(call))


@operation("POST", MESSAGE, body="UpdateMessage", answer="Message")
def update_message(call: ApiCall) -> Answer:
    """Replace the metadata of a message.

    Recorded (2025-09 and 2025-10): only this answer has `file_ids` instead of `attachments`.
    """
    known = _find_message(call)
    changed = known | ({"metadata": assistants.keep_metadata(call.body["metadata"])} if "metadata" in call.body else {})
    find_thread(call).messages[known["id"]] = changed
    shown = {"file_ids" if name == "attachments" else name: value for name, value in changed.items()}
    return Answer(200, {**shown, "file_ids": []})


@operation("DELETE", MESSAGE, answer="MessageDeleted")
def delete_message(call: ApiCall) -> Answer:
    """Delete a message from its thread."""
    id = call.params["message_id"]
    del find_thread(call).messages[id]
    return Answer(200, {"id": id, "object": "thread.message.deleted", "deleted": True})


def _find_message(call: ApiCall) -> Json:
    return find_thread(call).messages[call.params["message_id"]]
