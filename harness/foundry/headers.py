"""The headers of Azure OpenAI and of a Foundry project; a project's are a table by what answers, with their days."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from harness.api.http.dialects import FOUNDRY
from harness.api.models import Models
from harness.api.project_types import KIND_BY_PREFIX, PROMPT
from harness.contract.rule import CREATE_RESPONSE, RULES
from harness.core.dates import is_valid_on
from harness.core.exchange import Answer, Request
from harness.core.headers import quote_header
from harness.core.json_values import objects_in
from harness.foundry.errors import with_request_id

REGION = "West Europe"
OWN, HOSTED, FILES, STORES, ASSETS, DEPLOYMENTS = "own", "hosted", "files", "stores", "assets", "deployments"
CREATED, COMPACTED, QUEUED, READ, REFUSED = "created", "compacted", "queued", "read", "refused"
"""The parts of a project that answer.

In order: the project itself, also for a workflow; a hosted agent; its files; its vector stores; its datasets, indexes and
connections; its deployments; its model with a response, with a compaction, with a response in the background, about a
stored one, with a refusal.
"""
GENERATED = (CREATED, COMPACTED)
MODEL = (*GENERATED, QUEUED, READ, REFUSED)
SERVICES = (OWN, HOSTED, *MODEL, FILES, STORES, ASSETS)
EVERYTHING = (*SERVICES, DEPLOYMENTS)
BY_PATH = {
    "files": FILES,
    "vector_stores": STORES,
    **dict.fromkeys(("datasets", "indexes", "connections"), ASSETS),
    "deployments": DEPLOYMENTS,
}
BY_KIND = {"workflow": OWN, "hosted": HOSTED}
READERS = ("GET /responses/{response_id}", "POST /responses/{response_id}/cancel")


CLIENT_TOOLS = frozenset({"function", "custom"})
"""The tools whose calls end the response; if there are others, the project reads the model's answer as a stream."""
GATEWAY_TIMEOUT = 408
"""The status of the gateway after two minutes; a test scripts it with `http_error`. Recorded 2026-02-12."""


class Header(NamedTuple):
    """A header of a project: the answers with it, its first and last day, and the first day on streams with tools.

    `value` may contain `{model}` and `{snapshot}` of a response, `{streamed}`, `{session}`, `{apim}` for the gateway's
    id, and `{guid}` for a new one.
    """

    name: str
    value: str
    of: tuple[str, ...] = SERVICES
    since: str = ""
    until: str = ""
    streams_since: str = ""


LIMITS_SINCE, STREAMS_SINCE, MORE_LIMITS_SINCE, NAMES_SINCE = "2026-02-20", "2026-03-17", "2026-03-31", "2026-05-22"
"""The first recorded days of six `x-ratelimit-*`, of any in a stream with tools, of three more, of the model's name."""
NEVER = "9999"
"""The day for headers that no stream has."""
EXPOSED = "Operation-Location,Location,Apim-Request-Id,x-agent-session-id,x-agent-invocation-id"
VERSIONS = "2025-05-15-preview,2025-11-15-preview"
PLATFORM = "azure-ai-agentserver-core/2.0.0b3 (python/3.14) azure-ai-agentserver-responses/1.0.0b5 (python/3.14)"
ORGANIZATION = "6f72672d6861726e6573732d30303031"
PROJECT_HEADERS = (
    Header("access-control-expose-headers", EXPOSED, (OWN, HOSTED, *MODEL), since="2026-05-22"),
    Header("api-supported-versions", VERSIONS, (OWN, HOSTED, *MODEL), until="2026-02-11"),
    Header("api-supported-versions", f"1.0,{VERSIONS}", (OWN, HOSTED, *MODEL), since="2026-02-12"),
    Header("azureml-served-by-cluster", "hyena-westeurope-01", (OWN, HOSTED, *MODEL, STORES)),
    Header("azureml-served-by-cluster", "vienna-westeurope-01", (FILES, ASSETS)),
    Header("request-context", "appId=", (OWN, HOSTED, *MODEL, STORES)),
    Header("request-context", "appId=cid-v1:00000000-0000-0000-0000-000000000001", (FILES, ASSETS)),
    Header("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
    Header("x-content-type-options", "nosniff"),
    Header("x-ms-region", REGION, EVERYTHING),
    Header("x-request-time", "0.051", (FILES, ASSETS)),
    Header("mise-correlation-id", "{guid}", (ASSETS,), since="2026-03-21"),
    Header("x-ms-response-type", "standard"),
    Header("x-agent-session-id", "{session}", (HOSTED, CREATED, QUEUED)),
    Header("x-platform-server", PLATFORM, (HOSTED,)),
    Header("azureai-processed-tier", "default", (CREATED,), until="2026-03-30", streams_since=STREAMS_SINCE),
    Header("azureai-requested-tier", "default", (CREATED,), until="2026-03-30", streams_since=STREAMS_SINCE),
    Header("skip-error-remapping", "true", GENERATED, streams_since=STREAMS_SINCE),
    Header("openai-client-partition-id", f"{ORGANIZATION}{{apim}}", GENERATED, since="2026-02-20", streams_since=NEVER),
    Header("openai-organization", ORGANIZATION, (*MODEL, STORES), since="2026-02-12"),
    Header("openai-processing-ms", "10", (*MODEL, FILES, STORES), since="2026-02-12"),
    Header("openai-project", "70726f6a-6861-726e-6573-730000000001", MODEL, since="2026-02-12"),
    Header("openai-version", "2020-10-01", (*MODEL, FILES, STORES), since="2026-02-12"),
    Header("access-control-allow-origin", "*", (FILES,)),
    Header("x-ms-middleware-request-id", "{guid}", (FILES, STORES)),
    Header("azureai-fe-is-streaming", "{streamed}", GENERATED, since=NAMES_SINCE),
    Header("x-ms-aoai-configured-data-retention-days", "30", (CREATED, QUEUED), since=NAMES_SINCE),
    Header("x-ms-is-spilled-over", "false", GENERATED, since=MORE_LIMITS_SINCE),
    Header("x-ms-served-model", "{snapshot}", (CREATED, QUEUED), since=NAMES_SINCE),
    Header("x-ratelimit-abusepenalty-active", "False", GENERATED, since=MORE_LIMITS_SINCE),
    Header("x-ratelimit-key", "{model}", GENERATED, since=NAMES_SINCE),
    Header("x-ratelimit-renewalperiod-requests", "60", GENERATED, since=MORE_LIMITS_SINCE),
    Header("x-ratelimit-renewalperiod-tokens", "60", GENERATED, since=MORE_LIMITS_SINCE),
    Header("x-ratelimit-limit-tokens", "250000", (CREATED,), until="2025-12"),
    Header("x-ratelimit-remaining-tokens", "249000", (CREATED,), until="2025-12"),
    Header("x-ratelimit-reset-tokens", "0", (CREATED,), until="2025-12"),
    Header("x-ratelimit-limit-requests", "250", GENERATED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-limit-tokens", "250000", GENERATED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-remaining-requests", "249", GENERATED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-remaining-tokens", "249000", GENERATED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-reset-requests", "0", GENERATED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-reset-tokens", "0", GENERATED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
)
"""Recorded 2025-11 to 2026-07.

By 2026-03-12 a stream of a model with tools had none of those with `streams_since`, one without tools had them on
2026-02-26.
"""


def add_azure_headers(request: Request, answer: Answer, make_id: Callable[[], str], models: Models, day: str) -> Answer:
    """Add the headers of its dialect to an answer, few to the gateway's own refusals. `make_id` makes a GUID."""
    rule = RULES.get(answer.rule or "")
    streamed = answer.events is not None
    headers = {"content-type": _STREAM if streamed else _JSON, "apim-request-id": make_id()}
    if answer.body == b"":
        del headers["content-type"]  # recorded, for answers without a body
    if answer.status == GATEWAY_TIMEOUT:
        headers["x-ms-region"] = REGION
    elif rule is None or rule.area != "gateway":
        requested = request.headers.get("x-ms-client-request-id")
        echoed = {"x-ms-client-request-id": requested} if requested else {}
        if request.dialect == FOUNDRY:
            headers |= echoed
            answer = _add_project_headers(request, answer, headers, make_id, models, day)
        else:
            shared = {"x-request-id": headers["apim-request-id"], "x-ms-region": REGION, "skip-error-remapping": "true"}
            headers |= shared | echoed | _RESOURCE_HEADERS | {"azureai-fe-is-streaming": str(streamed)}
            headers |= _deployment_headers(request.body, models)
    elif (body := with_request_id(answer.body, headers["apim-request-id"].replace("-", ""), day)) is not answer.body:
        headers["x-request-id"] = body["error"]["additionalInfo"]["request_id"]
        answer = answer._replace(body=body)
    return answer._replace(headers={**headers, **answer.headers})


def _add_project_headers(
    request: Request, answer: Answer, headers: dict[str, str], make_id: Callable[[], str], models: Models, day: str
) -> Answer:
    """Add a project's headers; returns the answer, with the request's id where the body has a place for it."""
    request_id = make_id()
    own_id = request_id.replace("-", "")
    body = with_request_id(answer.body, own_id, day)
    # Only errors of the project's own service have a place for the id of their request.
    by = OWN if body is not answer.body else _answered_by(request, answer)
    if by not in (ASSETS, DEPLOYMENTS):
        headers["x-request-id"] = {OWN: own_id, HOSTED: f"{own_id},{own_id}"}.get(by, request_id)
    if by in (OWN, ASSETS) and headers.get("content-type") == _JSON:
        headers["content-type"] = f"{_JSON}; charset=utf-8"
    is_response = isinstance(answer.body, dict) and answer.body.get("object") == "response"
    streamed, shown = answer.events is not None, answer.body if is_response else {}
    asked = request.body if by == COMPACTED else shown
    if streamed:
        headers["cache-control"] = "no-cache"
    named = _deployment_headers(asked, models) if asked.get("model") else {}
    values = {
        "model": named.get("x-ratelimit-key", ""),
        "snapshot": named.get("x-ms-served-model", ""),
        "streamed": str(
            streamed or any(tool.get("type") not in CLIENT_TOOLS for tool in objects_in(shown.get("tools")))
        ),
        "apim": headers["apim-request-id"],
        "session": quote_header(str(shown.get("agent_session_id") or "")),
    }
    for name, value in _headers_on(day, by, streamed, bool(shown.get("tools"))):
        text = make_id() if value == "{guid}" else value.format_map(values)
        if text:
            headers[name] = text
    return answer._replace(body=body)


@lru_cache(maxsize=1024)
def _headers_on(day: str, by: str, streamed: bool, has_tools: bool) -> tuple[tuple[str, str], ...]:
    """Return the names and values of the headers that a part of a project sends on a day."""
    return tuple(
        (name, value)
        for name, value, of, since, until, streams_since in PROJECT_HEADERS
        if by in of
        and is_valid_on(day, since, until)
        and not (streamed and (streams_since == NEVER or (has_tools and day < streams_since)))
    )


def _answered_by(request: Request, answer: Answer) -> str:
    """Return which part of a project answers a request."""
    body = answer.body if isinstance(answer.body, dict) else {}
    if request.operation == CREATE_RESPONSE or request.operation in READERS:
        kind = KIND_BY_PREFIX.get(str(body.get("id")).partition("_")[0], PROMPT)
        if kind.name in BY_KIND:
            return BY_KIND[kind.name]
        if request.operation in READERS:
            return READ
        return REFUSED if answer.status >= 400 else QUEUED if body.get("status") == "queued" else CREATED
    if request.operation == "POST /responses/compact" and answer.status < 400:
        return COMPACTED
    path = request.path.partition("/")[2].partition("/")[0]
    return BY_PATH.get(path, OWN)


def _deployment_headers(body: Any, models: Models) -> Mapping[str, str]:
    """Return headers with the deployment of a body and the model that serves it, assumed to have the same name."""
    name = body.get("model") if isinstance(body, dict) else None
    if not (isinstance(name, str) and name.isascii() and name.isprintable()):
        return {}
    return {"x-ms-served-model": models.defaults(name).snapshot, "x-ratelimit-key": name}


_JSON, _STREAM = "application/json", "text/event-stream; charset=utf-8"
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
"""The headers of an Azure OpenAI resource."""
