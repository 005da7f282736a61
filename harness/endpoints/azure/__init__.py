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
    agent_of,
    is_at_agent_endpoint,
    user_of,
)
from harness.api.operations import OPERATIONS, Handler
from harness.api.project.agent_definitions import find_answering_version
from harness.api.project.agent_kinds import AGENT_KINDS, PROMPT, AgentKind, kind_of_agent
from harness.api.project.agents import count_served
from harness.api.resources.files import MODEL_PURPOSES
from harness.contract.rule import CREATE_RESPONSE
from harness.core.exchange import Answer, Json, Request
from harness.endpoints.azure.headers import add_headers
from harness.endpoints.azure.objects import show_object, tell_whole
from harness.endpoints.azure.responses import View
from harness.endpoints.project.agent_sessions import note_request
from harness.endpoints.responses import LIST_RESPONSES
from harness.world.api_call import ApiCall
from harness.world.world import World

__all__ = ["add_headers", "answer_in_dialect"]

OWNED = (CREATE_RESPONSE, "POST /conversations")
"""The operations that create something on behalf of a user."""
STARTING_AFTER = "starting_after"
"""The query parameter with the number of the event after which a stream resumes."""


def answer_in_dialect(handler: Handler, call: ApiCall) -> Answer:
    """Call a handler and return its answer in the dialect of the request."""
    request, world = call.request, call.world
    agent = _resolve_agent(request, world)
    resolved = call.resolved.request
    answer = handler(call.resolved.with_request(_count_from_zero(resolved, world)))
    if not isinstance(answer.body, dict):
        return answer
    if request.operation in OWNED and request.dialect == FOUNDRY and (user := user_of(request)):
        # What was made on behalf of a user is hidden from others later, by `user_isolated`.
        world.store.owners[answer.body["id"]] = user
    if answer.body.get("object") != "response":
        return _show_other(answer, request, world)
    id = answer.body["id"]
    if request.operation == CREATE_RESPONSE:
        world.store.azure_members[id] = _note_origin(request, resolved, agent, world)
        _count_served(request, agent, world)
    view = View(request.dialect, world.as_of, world.store.azure_members.get(id, {}), id)
    if answer.events is None:
        return answer._replace(body=view.show_response(answer.body))
    events = answer.events
    # A resumed stream must repeat what was sent, in the form in which it was sent.
    if view.kind.tells_whole and request.operation == CREATE_RESPONSE:
        events = _keep_whole(id, events, world)
    return answer._replace(
        body=view.show_response(answer.body, streamed=True), events=[view.show_event(event) for event in events]
    )


def _keep_whole(id: str, events: Sequence[Json], world: World) -> Sequence[Json]:
    """Join the deltas of each text into one, in the stored events too."""
    whole = tell_whole(events)
    if id in world.store.responses and world.store.responses[id].events is not None:
        world.store.put_events(id, whole)
    return whole


def _count_from_zero(request: Request, world: World) -> Request:
    """Convert `starting_after` to stored event numbers, where the stream as shown begins with another number."""
    after = request.query.get(STARTING_AFTER)
    first = _kind_of(world.store.azure_members.get(request.params.get("response_id", ""), {})).first_number
    if request.dialect != FOUNDRY or not first or not isinstance(after, int):
        return request
    return request._replace(query={**request.query, STARTING_AFTER: after - first})


def _kind_of(origin: Json) -> AgentKind:
    return AGENT_KINDS.get(origin.get("kind", ""), PROMPT)


def _show_other(answer: Answer, request: Request, world: World) -> Answer:
    """Show an answer without a response in the dialect: a project's objects have an order of their own."""
    if request.operation == LIST_RESPONSES:
        listed = [_view_of(response["id"], world).show_listed(response) for response in answer.body["data"]]
        return answer._replace(body={**answer.body, "data": listed})
    schema = OPERATIONS[request.operation].answer_schema
    if request.dialect != FOUNDRY or answer.status != 200 or schema is None:
        return answer
    made = schema == "FileObject" and request.method == "POST" and answer.body["purpose"] in MODEL_PURPOSES
    makers = _find_makers(request.params.get("conversation_id"), world)

    def render_item(item: Json) -> Json:
        return _view_of(makers.get(item.get("id"), ""), world).show_item(item)

    shown = show_object(schema, answer.body, world.as_of, request.method == "GET", render_item)
    return answer._replace(body=shown, status=201 if made else 200)


def _view_of(id: str, world: World) -> View:
    return View(FOUNDRY, world.as_of, world.store.azure_members.get(id, {}), id)


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


def _resolve_agent(request: Request, world: World) -> Json | None:
    """Return the agent that a request names, in the version that answers; None if it names none."""
    named = agent_of(request)
    if not isinstance(named, dict) or not isinstance(named.get("name"), str):
        return None
    answering = find_answering_version(request, world)
    version = named.get("version") or (answering["version"] if answering else "1")
    return {"type": AGENT_REFERENCE, "name": named["name"], "version": version}


def _count_served(request: Request, agent: Json | None, world: World) -> None:
    """Count a request at the endpoint of an agent whose traffic is split between versions."""
    settings = world.store.agent_settings.get(agent["name"], {}) if agent and is_at_agent_endpoint(request) else {}
    if agent and settings.get("agent_endpoint"):
        world.store.agent_settings[agent["name"]] = count_served(settings, agent["version"])


def _note_origin(request: Request, resolved: Request, agent: Json | None, world: World) -> Json:
    """Record what the response later says about its request: the deployment, the agent, the requested settings."""
    origin = {name: value for name in ("model",) if (value := resolved.body.get(name))}
    if request.dialect != FOUNDRY:
        return origin
    if agent is not None:
        origin |= {"agent": agent, "kind": kind_of_agent(world, agent).name}
    if session := request.body.get("agent_session_id") or (origin.get("kind") == "hosted" and world.ids.project_id()):
        origin["agent_session_id"] = session
        if agent and origin.get("kind") == "hosted" and isinstance(session, str):
            note_request(request, world, agent, session)
    return origin | {
        "tool_choice": request.body.get("tool_choice"),
        "prompt_cache_retention": request.body.get("prompt_cache_retention"),
        "is_preview": str(request.query.get(VERSION_PARAMETER)).endswith("-preview"),
    }
