"""`/threads`: create, retrieve, update and delete."""

from collections.abc import Sequence

from harness.api.operations import operation
from harness.api.resources import assistants
from harness.api.resources.assistants import Thread
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall
from harness.world.world import World

CODE_INTERPRETER_RESOURCES: Json = {"code_interpreter": {"file_ids": []}}


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
