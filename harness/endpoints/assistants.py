"""`/assistants`: create, list, retrieve, update and delete."""

from harness.api.operations import Cursors, operation
from harness.api.pages import page
from harness.api.resources import assistants
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall


@operation("POST", "/assistants", body="CreateAssistant", answer="Assistant")
def create(call: ApiCall) -> Answer:
    """Create an assistant."""
    made = assistants.new_assistant(call.members, call.world.ids, call.world.tick(), call.world.uploads.add_store)
    call.store.assistants[made["id"]] = made
    return Answer(200, made)


@operation(
    "GET",
    "/assistants",
    query="ListAssistants",
    answer="AssistantList",
    cursors=Cursors("assistant", lambda request, world: world.store.assistants),
)
def list_all(call: ApiCall) -> Answer:
    """List the assistants of the key, newest first unless `order=asc`."""
    return Answer(200, page(list(call.store.assistants.values()), call.query))


@operation("GET", "/assistants/{assistant_id}", answer="Assistant")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve an assistant."""
    return Answer(200, _find_assistant(call))


@operation("POST", "/assistants/{assistant_id}", body="UpdateAssistant", answer="Assistant")
def update(call: ApiCall) -> Answer:
    """Update an assistant; runs in progress continue with the assistant as it was."""
    known = _find_assistant(call)
    changed = assistants.update_from_body(call.body, known)
    call.store.assistants[known["id"]] = changed
    return Answer(200, changed)


@operation("DELETE", "/assistants/{assistant_id}", answer="AssistantDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete an assistant; its threads and runs stay."""
    id = call.params["assistant_id"]
    del call.store.assistants[id]
    return Answer(200, {"id": id, "object": "assistant.deleted", "deleted": True})


def _find_assistant(call: ApiCall) -> Json:
    return call.store.assistants[call.params["assistant_id"]]
