"""How Azure OpenAI and Azure AI Foundry answer: the members their responses add or omit, and their headers.

A World stores responses as OpenAI has them; the dialect is how a request is shown them. Read from recorded answers of
2025-11 to 2026-08.
"""

from __future__ import annotations

from typing import Any

from harness.api.content_filters import filter_result
from harness.api.http.dialects import AGENT_REFERENCE, AZURE, FOUNDRY, VERSION_PARAMETER, agent_of, apply_agent
from harness.api.models import Models
from harness.api.operations import Handler
from harness.api.project import agents as foundry_agents
from harness.api.project.errors import with_request_id
from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.contract.rule import CREATE_RESPONSE, RULES
from harness.core.exchange import Answer, Json, Request
from harness.world.world import World

REGION = "West Europe"
OPENAI_ONLY_MEMBERS = frozenset({"access_programs", "billing"})
"""Members of a response that OpenAI has and Azure has not."""
FOUNDRY_MEMBERS = (
    *("metadata", "temperature", "top_p", "user", "service_tier", "top_logprobs", "previous_response_id", "model"),
    *("reasoning", "background", "text", "tools", "tool_choice", "truncation", "id", "object", "status", "created_at"),
    *("error", "incomplete_details", "output", "instructions", "usage", "parallel_tool_calls", "conversation"),
)
"""Members of a Foundry project's response as JSON, in order; in a stream it has all those of Azure OpenAI."""


def answer_in_dialect(handler: Handler, request: Request, world: World) -> Answer:
    """The answer of an operation in the dialect of the request."""
    agent = _resolve_agent(request, world)
    resolved = apply_agent(request, {agent["name"]: foundry_agents.resolve_definition(world, agent)} if agent else None)
    answer = handler(resolved, world)
    if not isinstance(answer.body, dict) or answer.body.get("object") != "response":
        return answer
    if request.operation == CREATE_RESPONSE:
        world.store.azure_members[answer.body["id"]] = _deployment_members(resolved, agent)
    members = world.store.azure_members.get(answer.body["id"], {})
    if answer.events is None:
        shown = (
            _render_foundry_response(answer.body, members)
            if request.dialect == FOUNDRY
            else _render_response(answer.body, members)
        )
        return answer._replace(body=shown)
    events = [_render_event(event, members, answer.body["id"]) for event in answer.events]
    return answer._replace(body=_render_response(answer.body, members), events=events)


def _render_event(event: Json, members: Json, id: str) -> Json:
    if "response" in event:
        return {**event, "response": _render_response(event["response"], members)}
    return {**event, "item": _add_agent(event["item"], members, id)} if "item" in event else event


def _resolve_agent(request: Request, world: World) -> Json | None:
    """The agent a request names, in the version that answers; None without a name, which `POST /responses` refuses."""
    named = agent_of(request)
    if not isinstance(named, dict) or not isinstance(named.get("name"), str):
        return None
    known = foundry_agents.versions_of(world, named["name"])
    newest = known[-1]["version"] if known else "1"
    return {"type": AGENT_REFERENCE, "name": named["name"], "version": named.get("version") or newest}


def _deployment_members(request: Request, agent: Json | None) -> Json:
    """The members of a response that repeat the request: its deployment, its agent.

    Recorded: for clients of a preview version the agent's member has another name.
    """
    members = {"model": name} if (name := request.body.get("model")) else {}
    if agent:
        is_preview = str(request.query.get(VERSION_PARAMETER)).endswith("-preview")
        members |= {"agent": {**agent, "type": "agent_id"}} if is_preview else {AGENT_REFERENCE: agent}
    return members


def _add_agent(item: Json, members: Json, response_id: str) -> Json:
    """An item with the agent that made it, if one did."""
    if "agent" in members:
        return {**item, "created_by": {"agent": members["agent"], "response_id": response_id}}
    return (
        {**item, AGENT_REFERENCE: members[AGENT_REFERENCE], "response_id": response_id}
        if AGENT_REFERENCE in members
        else item
    )


def _render_response(response: Json, members: Json) -> Json:
    """A response in full. Recorded: behind an agent `tool_choice` is null in a stream."""
    shown: Json = {}
    for name, value in response.items():
        if name not in OPENAI_ONLY_MEMBERS:
            shown[name] = value
        if name == "completed_at":
            shown["content_filters"] = _content_filters(response)
    silent = {"tool_choice": None} if members.keys() & {AGENT_REFERENCE, "agent"} else {}
    return {**shown, **members, **silent, "output": _render_output(response, members)}


def _render_output(response: Json, members: Json) -> list[Json]:
    return [_add_agent(item, members, response["id"]) for item in response["output"]]


def _render_foundry_response(response: Json, members: Json) -> Json:
    full = {"conversation": None, **response, "output": _render_output(response, members)}
    if full["previous_response_id"] is None:
        del full["previous_response_id"]
    reasoning = {name: value for name, value in full["reasoning"].items() if value is not None}
    return {name: full[name] for name in FOUNDRY_MEMBERS if name in full} | {"reasoning": reasoning, **members}


def _content_filters(response: Json) -> Any:
    """What the filters found in prompt and completion; nothing is said before the end, nor of what failed."""
    usage, details = response["usage"], response["incomplete_details"] or {}
    if usage is None:
        return None
    cut = details.get("reason") == "content_filter"
    return [
        filter_result("prompt", (), CHARACTERS_PER_TOKEN * usage["input_tokens"]),
        filter_result("completion", ("violence",) if cut else (), CHARACTERS_PER_TOKEN * usage["output_tokens"]),
    ]


def add_headers(request: Request, answer: Answer, id: str, models: Models) -> Answer:
    """An answer with the headers of its dialect; the gateway's own refusals carry hardly any. `id` is a GUID."""
    streamed = answer.events is not None
    kind = "text/event-stream; charset=utf-8" if streamed else "application/json"
    headers = {"content-type": kind, "apim-request-id": id}
    rule = RULES.get(answer.rule or "")
    if answer.rule and (body := with_request_id(answer.body, request_id := id.replace("-", ""))) is not answer.body:
        answer = answer._replace(body=body, headers={"x-request-id": request_id, **answer.headers})
    if rule is None or rule.area != "gateway":
        headers |= _shared_headers(request, id)
        if request.dialect == AZURE:
            headers |= (
                _RESOURCE_HEADERS | {"azureai-fe-is-streaming": str(streamed)} | _deployment_headers(request, models)
            )
    return answer._replace(headers={**headers, **answer.headers})


def _shared_headers(request: Request, id: str) -> dict[str, str]:
    requested = request.headers.get("x-ms-client-request-id")
    echoed = {"x-ms-client-request-id": requested} if requested else {}
    shared = {"x-request-id": id, "x-ms-region": REGION, "skip-error-remapping": "true", **echoed}
    return shared | _PROJECT_HEADERS if request.dialect == FOUNDRY else shared


def _deployment_headers(request: Request, models: Models) -> dict[str, str]:
    """The deployment a request names and the model that serves it, which is taken to be the one of that name."""
    name = request.body.get("model") if isinstance(request.body, dict) else None
    if not (isinstance(name, str) and name.isascii() and name.isprintable()):
        return {}
    return {"x-ms-served-model": models.defaults(name).snapshot, "x-ratelimit-key": name}


_PROJECT_HEADERS = {
    "api-supported-versions": "1.0,2025-05-15-preview,2025-11-15-preview",
    "azureai-processed-tier": "default",
    "azureai-requested-tier": "default",
    "request-context": "appId=",
    "x-ms-response-type": "standard",
}
_RESOURCE_HEADERS = {
    "azureai-fe-offer-type": "paygo",
    "strict-transport-security": "max-age=31536000; includeSubDomains; preload",
    "x-content-type-options": "nosniff",
    "x-ms-aoai-configured-data-retention-days": "30",
    "x-ms-is-spilled-over": "false",
    "x-ratelimit-abusepenalty-active": "False",
    "x-ratelimit-limit-requests": "250",
    "x-ratelimit-limit-tokens": "250000",
    "x-ratelimit-remaining-requests": "249",
    "x-ratelimit-remaining-tokens": "249000",
    "x-ratelimit-renewalperiod-requests": "60",
    "x-ratelimit-renewalperiod-tokens": "60",
    "x-ratelimit-reset-requests": "0",
    "x-ratelimit-reset-tokens": "0",
}
