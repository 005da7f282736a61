"""`/threads/{thread_id}/messages`: create, list, retrieve, update and delete."""

from harness.api.operations import Cursors, operation, page
from harness.api.resources.assistants import keep_metadata
from harness.core.exchange import Answer, Json
from harness.endpoints.threads import add_messages, find_thread
from harness.world.api_call import ApiCall

MESSAGES = "/threads/{thread_id}/messages"
MESSAGE = f"{MESSAGES}/{{message_id}}"


@operation("POST", MESSAGES, body="CreateMessage", answer="Message")
def create(call: ApiCall) -> Answer:
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
def list_all(call: ApiCall) -> Answer:
    """List the messages of a thread, newest first unless `order=asc`; with `run_id`, those of that run."""
    found = list(find_thread(call).messages.values())
    if run_id := call.query.get("run_id"):
        found = [message for message in found if message["run_id"] == run_id]
    return Answer(200, page(found, call.query))


@operation("GET", MESSAGE, answer="Message")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a message."""
    return Answer(200, _find_message(call))


@operation("POST", MESSAGE, body="UpdateMessage", answer="Message")
def update(call: ApiCall) -> Answer:
    """Replace the metadata of a message.

    Recorded (2025-09 and 2025-10): only this answer has `file_ids` instead of `attachments`.
    """
    known = _find_message(call)
    changed = known | ({"metadata": keep_metadata(call.body["metadata"])} if "metadata" in call.body else {})
    find_thread(call).messages[known["id"]] = changed
    shown = {"file_ids" if name == "attachments" else name: value for name, value in changed.items()}
    return Answer(200, {**shown, "file_ids": []})


@operation("DELETE", MESSAGE, answer="MessageDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete a message from its thread."""
    id = call.params["message_id"]
    del find_thread(call).messages[id]
    return Answer(200, {"id": id, "object": "thread.message.deleted", "deleted": True})


def _find_message(call: ApiCall) -> Json:
    return find_thread(call).messages[call.params["message_id"]]
