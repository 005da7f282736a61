"""The gateway of Azure OpenAI and Azure AI Foundry, and their deployments: keys, paths, versions, permissions, limits."""

import re
from collections.abc import Iterator
from math import ceil

from harness.api.http.dialects import (
    AZURE,
    AZURE_DIALECTS,
    DATED_VERSION,
    FIRST_VERSION,
    FOUNDRY,
    UNDATED_VERSIONS,
    agent_of,
    api_version,
    is_versioned,
)
from harness.contract.rule import (
    CREATE_RESPONSE,
    LIMITED_ACCOUNT,
    Case,
    RuleScope,
    WorldView,
    assumed,
    recorded,
    reported,
    rule,
)
from harness.contract.rules.example_requests import (
    HELPER_REFERENCE,
    KEY_HEADERS,
    ON_AZURE,
    ON_CLASSIC,
    ON_FOUNDRY,
    PROJECT_PATH,
    VALID_BODY,
)
from harness.core.account import Organization, RateLimit
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object

SCOPE = RuleScope(area="gateway", on="*", dialects=AZURE)

GATEWAY_ERROR_FORM = {"error": {"code": "{code}", "message": "{message}"}}
"""The form of errors from Azure's gateway: no type, no param."""
NOT_AN_ENDPOINT = ("unknown URL", "outside the API", "wrong method")


def gateway_error(status: int, message: str, code: str) -> ApiError:
    """Return an error of the gateway."""
    return ApiError(status, message, code=code, body_template=GATEWAY_ERROR_FORM)


@rule(
    gateway_error(
        401,
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
        "active subscription and use a correct regional API endpoint for your resource.",
        "401",
    ),
    recorded("crmne/ruby_llm: another path of the same gateway", "2026-08-19"),
    reported("https://github.com/SciSharp/BotSharp/issues/386", "2024-04-02"),
    reads="request.headers.api-key",
    dialects=AZURE_DIALECTS,
    rejects=[Case({}, on=ON_AZURE, headers={"api-key": ""})],
    accepts=[Case(VALID_BODY, on=ON_AZURE, headers=KEY_HEADERS), Case(VALID_BODY, on=ON_FOUNDRY, headers=KEY_HEADERS)],
    fix="Send a key that the server knows in `api-key`; the mock accepts any unless it was started with `--keys`.",
)
def subscription_key_invalid(request: Request, world: WorldView | None) -> bool:
    """An `api-key` must belong to the resource."""
    return world is None and "api-key" in request.headers


AZURE_AUDIENCE, FOUNDRY_AUDIENCE = "https://cognitiveservices.azure.com", "https://ai.azure.com/"
UNAUTHORIZED = "Unauthorized. Access token is missing, invalid, audience is incorrect ({audience}), or have expired."


@rule(
    ApiError(401, UNAUTHORIZED, body_template={"statusCode": "{status}", "message": "{message}"}),
    reported("https://github.com/Azure/azure-sdk-for-python/issues/44412: a Foundry project", "2025-12-12"),
    reported("https://github.com/MuiseDestiny/zotero-gpt/issues/412: Azure OpenAI", "2025-02-08"),
    reads="request.headers.api-key",
    dialects=AZURE_DIALECTS,
    rejects={AZURE_AUDIENCE: Case({}, on=ON_AZURE, headers={}), FOUNDRY_AUDIENCE: Case({}, on=ON_FOUNDRY, headers={})},
    accepts=[Case(VALID_BODY, on=ON_AZURE, headers={"authorization": "Bearer eyJ0.fake"})],
    fix="Send `api-key: <key>`, or `Authorization: Bearer <token>` of a credential.",
)
def token_invalid(request: Request, world: WorldView | None) -> Iterator[Json]:
    """Without an `api-key` a request must carry a token; the mock accepts any."""
    if world is None and "api-key" not in request.headers:
        yield {"audience": FOUNDRY_AUDIENCE if request.dialect == FOUNDRY else AZURE_AUDIENCE}


@rule(
    gateway_error(404, "Resource not found", "404"),
    reported("https://github.com/langchain-ai/langchain/issues/13284", "2023-11-13"),
    reported("https://github.com/openai/openai-python/issues/362", "2023-04-20"),
    assumed("that paths of Responses have the error of those of chat completions, for a wrong method too"),
    on=NOT_AN_ENDPOINT,
    rejects=[Case({}, on="POST !/openai/v1/response")],
    fix="Check the path: `/openai/v1/…`, or `/openai/…?api-version=…`; responses are never below `/deployments/`.",
)
def resource_not_found(request: Request) -> bool:
    """The path must be one of the resource's."""
    return True


NO_ROUTE = ApiError(
    404,
    "Not Found",
    body_template={
        "type": "https://tools.ietf.org/html/rfc9110#section-15.5.5",
        "title": "{message}",
        "status": "{status}",
        "traceId": f"00-{'0' * 32}-{'0' * 16}-00",
    },
)
"""The error of a project for a path that it does not have."""


@rule(
    NO_ROUTE,
    reported("a public client of a Foundry project", "2026"),
    assumed("that a wrong method gets the same error"),
    on=NOT_AN_ENDPOINT,
    dialects=FOUNDRY,
    rejects=[Case({}, on=f"POST !{PROJECT_PATH}/openai/v1/response")],
    fix="Check the path: the project's endpoint, then `/openai/v1/…`.",
)
def route_not_found(request: Request) -> bool:
    """The path must be one of the project's."""
    return True


@rule(
    gateway_error(404, "Resource not found", "404"),
    reported("https://github.com/MicrosoftDocs/azure-docs/issues/114602: chat completions", "2023-09-12"),
    assumed("that responses have the error of chat completions"),
    reads=("request.query", "request.root", "request.path"),
    rejects=[Case({}, on=ON_CLASSIC)],
    accepts=[Case(VALID_BODY, on=f"{ON_CLASSIC}?api-version={FIRST_VERSION}"), Case(VALID_BODY, on=ON_AZURE)],
    fix="Add `?api-version=2025-04-01-preview`, or use the path `/openai/v1/…`, which needs none.",
)
def version_missing(request: Request) -> bool:
    """Paths without `/v1` need `api-version` in the query."""
    return not is_versioned(request) and not api_version(request)


@rule(
    gateway_error(400, "api-version query parameter is not allowed when using /v1 path", "BadRequest"),
    reported("public clients of Foundry projects", "2026"),
    reads=("request.query", "request.root", "request.path"),
    dialects=FOUNDRY,
    rejects=[Case({}, on=f"{ON_FOUNDRY}?api-version=v1")],
    accepts=[Case(VALID_BODY, on=ON_FOUNDRY)],
    since="2026-01-01",
    fix="Leave `api-version` out of the query.",
)
def version_not_allowed(request: Request) -> bool:
    """A project's path with `/v1` accepts no `api-version`."""
    return bool(is_versioned(request) and api_version(request))


@rule(
    gateway_error(400, "API version not supported", "BadRequest"),
    reported("https://github.com/hotovo/aider-desk/issues/460", "2025-11-01"),
    reported("https://github.com/zendev-sh/goai/pull/54: a dated version of the path with /v1", "2026-05-03"),
    reads=("request.query", "request.root", "request.path"),
    rejects=[Case({}, on=f"{ON_AZURE}?api-version=2025-04-01-preview")],
    accepts=[
        Case(VALID_BODY, on=f"{ON_AZURE}?api-version=preview"),
        Case(VALID_BODY, on=f"{ON_CLASSIC}?api-version=2025-04-01-preview"),
        Case(VALID_BODY, on=f"{ON_CLASSIC}?api-version=preview"),
    ],
    since="2025-11-01",
    fix="With `/openai/v1/…` leave `api-version` out; else give a version that the resource has.",
)
def version_unsupported(request: Request) -> bool:
    """Paths with `/v1` accept no dated version; one without it requires a date."""
    version = api_version(request)
    return bool(
        version and version not in UNDATED_VERSIONS and (is_versioned(request) or not DATED_VERSION.fullmatch(version))
    )


@rule(
    gateway_error(
        400, f"Azure OpenAI Responses API is enabled only for api-version {FIRST_VERSION} and later", "BadRequest"
    ),
    reported("https://github.com/Aider-AI/aider/issues/4029", "2025-05-16"),
    reads=("request.query", "request.root", "request.path"),
    on=(CREATE_RESPONSE, "GET /responses/{response_id}", "POST /responses/compact", "POST /responses/input_tokens"),
    rejects=[Case({}, on=f"{ON_CLASSIC}?api-version=2024-10-21")],
    accepts=[Case(VALID_BODY, on=f"{ON_CLASSIC}?api-version={FIRST_VERSION}")],
    fix=f"Use `api-version={FIRST_VERSION}` or a later one, or the path `/openai/v1/…`.",
)
def version_too_old(request: Request) -> bool:
    """Versions that precede the first one with the Responses API lack it."""
    version = api_version(request)
    return bool(not is_versioned(request) and DATED_VERSION.fullmatch(version) and version[:10] < FIRST_VERSION[:10])


SCOPE = RuleScope(area="gateway", when=LIMITED_ACCOUNT)


@rule(
    gateway_error(403, "Key based authentication is disabled for this resource.", "AuthenticationTypeDisabled"),
    reported("public reports of nine origins, one with the whole body", "2026"),
    reads="request.headers.api-key",
    on="*",
    dialects=AZURE_DIALECTS,
    rejects=[Case({}, on=ON_AZURE, headers=KEY_HEADERS, account=Organization(takes_keys=False))],
    accepts=[
        Case(VALID_BODY, on=ON_AZURE, account=Organization(takes_keys=False)),
        Case(VALID_BODY, on=ON_AZURE, headers=KEY_HEADERS, account=Organization(verified=False)),
    ],
    fix="Send a token of Entra ID as `Authorization: Bearer …`, or allow keys: `mock.organization(takes_keys=True)`.",
)
def key_authentication_disabled(request: Request, world: WorldView) -> bool:
    """A resource may take tokens of Entra ID only."""
    return "api-key" in request.headers and not world.account.takes_keys


PERMISSION_DENIED = (
    "The principal `{principal}` lacks the required data action `Microsoft.CognitiveServices/accounts/OpenAI/responses/"
    "{action}` to perform `{method} {path}` operation."
)


@rule(
    gateway_error(401, PERMISSION_DENIED, "PermissionDenied"),
    reported("https://github.com/microsoft/vscode/issues/283763", "2025-12-16"),
    reads=("request.root", "request.path"),
    on="*",
    dialects=AZURE,
    rejects={
        ("org-harness", "write", "POST", "/openai/responses"): Case(
            {}, on=f"{ON_CLASSIC}?api-version={FIRST_VERSION}", account=Organization(scopes=frozenset())
        )
    },
    accepts=[Case(VALID_BODY, on=ON_AZURE, account=Organization(scopes=frozenset(["api.responses.write"])))],
    fix="Give the principal a role with the data action: `mock.organization(scopes={'api.responses.write'})`.",
)
def data_action_missing(request: Request, world: WorldView) -> Iterator[Json]:
    """Principals need the operation's data action: write or read."""
    granted, action = world.account.scopes, "read" if request.method == "GET" else "write"
    if granted is not None and f"api.responses.{action}" not in granted:
        path = f"{request.root}{request.path}"
        yield {"principal": world.account.name, "action": action, "method": request.method, "path": path}


_PATHS_OF_MANY = ("/openai", "/agents")
"""Paths that a refusal shortens to cover everything below; for all others it names the path itself."""
_PROJECT_ROOT = re.compile(r"/api/projects/[^/]+|/agents/v1\.0/.*")


@rule(
    gateway_error(
        401,
        "The principal `{principal}` lacks the required data action `Microsoft.CognitiveServices/accounts/AIServices/agents/"
        "{action}` to perform `{method} /api/projects/{{projectName}}{path}` operation. For instructions on granting the "
        "necessary permissions, see https://aka.ms/FoundryPermissions.",
        "PermissionDenied",
    ),
    reported("https://github.com/microsoft-foundry/foundry-samples/issues/692: the whole body", "2026-05-02"),
    reported("https://github.com/Azure/azure-sdk-for-python/issues/44842", "2026-01-25"),
    reported("https://github.com/davrous/AzureAgentToM365/issues/3: a path with an id", "2025-07-21"),
    reported("https://github.com/microsoft/microsoft-foundry-for-vscode/issues/205: to read", "2025-10-21"),
    on="*",
    dialects=FOUNDRY,
    rejects={
        ("org-harness", action, method, place): Case(
            body, on=f"{method} !{PROJECT_PATH}{path}", account=Organization(scopes=frozenset())
        )
        for method, path, body, action, place in (
            ("POST", "/openai/v1/responses", VALID_BODY, "write", "/openai/*"),
            ("POST", "/agents/helper/endpoint/protocols/openai/responses?api-version=v1", {}, "write", "/agents/*"),
            ("GET", "/assistants?api-version=v1", None, "read", "/assistants"),
            ("GET", "/assistants/asst_1?api-version=v1", None, "read", "/assistants/{assistantId}"),
        )
    },
    accepts=[Case(VALID_BODY, on=ON_FOUNDRY, account=Organization(scopes=frozenset(["api.responses.write"])))],
    fix="Give the principal the role Azure AI User: `mock.organization(scopes={'api.responses.write'})`.",
)
def project_data_action_missing(request: Request, world: WorldView) -> Iterator[Json]:
    """In a project, a principal needs the data action for agents: write or read."""
    granted, action = world.account.scopes, "read" if request.method == "GET" else "write"
    if granted is not None and f"api.responses.{action}" not in granted:
        path = _operation_path(request)
        yield {"principal": world.account.name, "action": action, "method": request.method, "path": path}


def _operation_path(request: Request) -> str:
    """Shorten the path below a project as in a refusal: `/openai/*`, `/assistants/{assistantId}`."""
    below = _PROJECT_ROOT.sub("", request.root) + request.path
    for start in _PATHS_OF_MANY:
        if below.startswith(f"{start}/") or below == start:
            return f"{start}/*"
    for name, value in request.params.items():
        below = below.replace(f"/{value}", f"/{{{_camel_case(name)}}}", 1)
    return below


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


@rule(
    ApiError(
        429,
        "Too Many Requests",
        code="too_many_requests",
        type="too_many_requests",
        headers={"retry-after": "{wait}", "retry-after-ms": "{wait_ms}"},
    ),
    reported("public reports of Azure OpenAI's Responses", "2026"),
    reported("https://github.com/openai/codex/issues/1354: the message", "2025-06-20"),
    reads=(),
    on="*",
    dialects=AZURE_DIALECTS,
    rejects=[Case({}, on=ON_AZURE, account=Organization(rate_limit=RateLimit(3, 3, 1)))],
    fix="Wait as the headers `retry-after` and `retry-after-ms` say, then try again.",
)
def too_many_requests(world: WorldView) -> Iterator[Json]:
    """Requests over the limit of their deployment are refused with 429."""
    if limit := world.account.rate_limit:
        yield {"wait": ceil(limit.seconds), "wait_ms": ceil(limit.seconds * 1000)}


@rule(
    ApiError(
        404,
        "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, "
        "please wait a moment and try again.",
        code="DeploymentNotFound",
        body_template={"error": {"type": "{type}", "code": "{code}", "message": "{message}"}},
    ),
    reported("a public recording of /openai/v1/responses", "2026-09-28"),
    reported("https://github.com/langchain-ai/opengpts/issues/322: chat completions, without the type", "2024-04"),
    on=(CREATE_RESPONSE, "POST /responses/compact", "POST /responses/input_tokens"),
    when="model",
    reads=("agent_reference", "agent", "request.root", "world.account"),
    dialects=AZURE_DIALECTS,
    rejects=[Case({"model": "gpt-4o"}, on=ON_AZURE, account=Organization(models=frozenset(["mine"])))],
    accepts=[
        Case({**VALID_BODY, "model": "", "agent_reference": HELPER_REFERENCE}, on=ON_FOUNDRY),
        Case({"model": "claude-sonnet-4-5", "input": "hi"}, on=ON_AZURE),
        Case({"model": "mine", "input": "hi"}, on=ON_AZURE, account=Organization(models=frozenset(["mine"]))),
    ],
    fix="`model` is the name of a deployment; `mock.organization(models={…})` sets which exist.",
)
def deployment_not_found(request: Request, world: WorldView) -> bool:
    """`model` must name a deployment; unless the account lists them, any name does except an empty one.

    With an agent, an empty one is ignored: agent-framework's `FoundryAgent` sends it on every turn but the first.
    """
    name = as_object(request.body).get("model")
    listed = world.account.models
    if name == "" and agent_of(request):
        return False
    return isinstance(name, str) and (not name if listed is None else name not in listed)
