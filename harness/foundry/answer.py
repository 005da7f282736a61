"""How Azure OpenAI and Azure AI Foundry answer: the members that they add or omit, their order, and the headers.

A World stores responses as OpenAI returns them; the dialect only changes how a request sees them. Read from recorded
answers of 2025-11 to 2026-08.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.api.http.dialects import (
    AGENT_REFERENCE,
    FOUNDRY,
    VERSION_PARAMETER,
    is_at_agent_endpoint,
    user_of,
)
from harness.api.operations import OPERATIONS
from harness.api.project_types import NamedAgent
from harness.api.resources.files import MODEL_PURPOSES
from harness.contract.rule import CREATE_RESPONSE
from harness.core.exchange import Answer, Json, Request
from harness.foundry.access import OWNERS
from harness.foundry.agent_sessions import note_request
from harness.foundry.agent_versions import AGENT_SETTINGS, count_served
from harness.foundry.members import show_object
from harness.foundry.stored import LIST_RESPONSES, ORIGINS
from harness.foundry.view import View, join_deltas
from harness.world.api_call import ApiCall
from harness.world.world import World

OWNED = (CREATE_RESPONSE, "POST /conversations")
"""The operations that create something on behalf of a user."""
STARTING_AFTER = "starting_after"
"""The query parameter with the number of the event after which a stream resumes."""


def read_in_dialect(call: ApiCall) -> ApiCall:
    """Return a call as its handler reads it: with the definition of its agent, numbers of events counted from zero."""
    return call.resolved.with_request(_count_from_zero(call.resolved.request, call.world))


def show_in_dialect(call: ApiCall, answer: Answer) -> Answer:
    """Show a handler's answer in the dialect of its call, which is as the client sent it."""
    request, world = call.request, call.world
    if not isinstance(answer.body, dict):
        return answer
    if request.operation in OWNED and request.dialect == FOUNDRY and (user := user_of(request)):
        # What was made on behalf of a user is hidden from others later, by `user_isolated`.
        world.store.table(OWNERS)[answer.body["id"]] = user
    if answer.body.get("object") != "response":
        return _show_other(answer, request, world)
    id = answer.body["id"]
    if request.operation == CREATE_RESPONSE:
        reference = _refer_to(call.agent)
        world.store.table(ORIGINS)[id] = _note_origin(call, reference)
        _count_served(request, reference, world)
    view = _view_of(id, request, world)
    if answer.events is None:
        return answer._replace(body=view.show_response(answer.body))
    events = answer.events
    # A resumed stream must repeat what was sent, in the form in which it was sent.
    if view.kind.tells_whole and request.operation == CREATE_RESPONSE:
        events = _keep_whole(id, events, world)
    return answer._replace(body=view.show_streamed(answer.body), events=[view.show_event(event) for event in events])


def _keep_whole(id: str, events: Sequence[Json], world: World) -> Sequence[Json]:
    """Join the deltas of each text into one, in the stored events too."""
    whole = join_deltas(events)
    if id in world.store.responses and world.store.responses[id].events is not None:
        world.store.put_events(id, whole)
    return whole


def _count_from_zero(request: Request, world: World) -> Request:
    """Convert `starting_after` to stored event numbers, where the stream as shown begins with another number."""
    after = request.query.get(STARTING_AFTER)
    if not isinstance(after, int):
        return request
    first = _view_of(request.params.get("response_id", ""), request, world).kind.first_number
    return request._replace(query={**request.query, STARTING_AFTER: after - first})


def _view_of(id: str, request: Request, world: World) -> View:
    return View(request.dialect, world.as_of, world.store.table(ORIGINS).get(id, {}), id)


def _show_other(answer: Answer, request: Request, world: World) -> Answer:
    """Show an answer without a response in the dialect: a project's objects have an order of their own."""
    if request.operation == LIST_RESPONSES:
        listed = [_view_of(response["id"], request, world).show_listed(response) for response in answer.body["data"]]
        return answer._replace(body={**answer.body, "data": listed})
    schema = OPERATIONS[request.operation].answer_schema
    if request.dialect != FOUNDRY or answer.status != 200 or schema is None:
        return answer
    made = schema == "FileObject" and request.method == "POST" and answer.body["purpose"] in MODEL_PURPOSES
    makers = _find_makers(request.params.get("conversation_id"), world)

    def render_item(item: Json) -> Json:
        return _view_of(makers.get(item.get("id"), ""), request, world).show_item(item)

    shown = show_object(schema, answer.body, world.as_of, request.method == "GET", render_item)
    return answer._replace(body=shown, status=201 if made else 200)


def _find_makers(conversation: str | None, world: World) -> Mapping[str | None, str]:
    """Map the ids of a conversation's items to the responses that made them.

    Reported by public readers of traces, 2026-01: such an item names its response and agent in a list, too.
    """
    if conversation is None:
        return {}
    return {
        item.get("id"): id
        for id, stored in world.store.responses.items()
        if (stored.response.get("conversation") or {}).get("id") == conversation
        for item in stored.response["output"]
    }


def _refer_to(agent: NamedAgent | None) -> Json | None:
    """Return the reference to an agent in the version that answers; None without an agent."""
    if agent is None or not isinstance(agent.named, dict) or not isinstance(agent.named.get("name"), str):
        return None
    version = agent.named.get("version") or (agent.version["version"] if agent.version else "1")
    return {"type": AGENT_REFERENCE, "name": agent.named["name"], "version": version}


def _count_served(request: Request, reference: Json | None, world: World) -> None:
    """Count a request at the endpoint of an agent whose traffic is split between versions."""
    if reference and is_at_agent_endpoint(request):
        settings = world.store.table(AGENT_SETTINGS)
        if settings.get(reference["name"], {}).get("agent_endpoint"):
            settings[reference["name"]] = count_served(settings[reference["name"]], reference["version"])


def _note_origin(call: ApiCall, reference: Json | None) -> Json:
    """Record what the response later says about its request: the deployment, the agent, the requested settings."""
    request, world, agent = call.request, call.world, call.agent
    model = call.resolved.body.get("model")
    origin: Json = {"model": model} if model else {}
    if request.dialect != FOUNDRY:
        return origin
    if reference and agent:
        origin |= {"agent": reference, "kind": agent.kind.name}
    if session := request.body.get("agent_session_id") or (origin.get("kind") == "hosted" and world.ids.project_id()):
        origin["agent_session_id"] = session
        if reference and origin.get("kind") == "hosted" and isinstance(session, str):
            note_request(request, world, reference, session)
    return origin | {
        "tool_choice": request.body.get("tool_choice"),
        "prompt_cache_retention": request.body.get("prompt_cache_retention"),
        "is_preview": str(request.query.get(VERSION_PARAMETER)).endswith("-preview"),
    }
