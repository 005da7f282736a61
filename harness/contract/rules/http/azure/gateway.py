"""The gateway of Azure OpenAI and Azure AI Foundry: keys, paths, versions, deployments."""

from collections.abc import Iterator

from harness.api.http.dialects import (
    AZURE,
    AZURE_DIALECTS,
    DATED_VERSION,
    FIRST_VERSION,
    FOUNDRY,
    UNDATED_VERSIONS,
    api_version,
    is_versioned,
)
from harness.contract.rule import CREATE_RESPONSE, Case, RuleScope, WorldView, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import (
    KEY_HEADERS,
    ON_AZURE,
    ON_CLASSIC,
    ON_FOUNDRY,
    PROJECT_PATH,
    VALID_BODY,
)
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

SCOPE = RuleScope(on="*", dialects=AZURE)

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
def subscription_key_invalid(request: Request, world: WorldView | None) -> Iterator[Json]:
    """An `api-key` must belong to the resource."""
    if world is None and "api-key" in request.headers:
        yield {}


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
def resource_not_found(request: Request) -> Iterator[Json]:
    """The path must be one of the resource's."""
    yield {}


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
def route_not_found(request: Request) -> Iterator[Json]:
    """The path must be one of the project's."""
    yield {}


@rule(
    gateway_error(404, "Resource not found", "404"),
    reported("https://github.com/MicrosoftDocs/azure-docs/issues/114602: chat completions", "2023-09-12"),
    assumed("that responses have the error of chat completions"),
    reads=("request.query", "request.root", "request.path"),
    rejects=[Case({}, on=ON_CLASSIC)],
    accepts=[Case(VALID_BODY, on=f"{ON_CLASSIC}?api-version={FIRST_VERSION}"), Case(VALID_BODY, on=ON_AZURE)],
    fix="Add `?api-version=2025-04-01-preview`, or use the path `/openai/v1/…`, which needs none.",
)
def version_missing(request: Request) -> Iterator[Json]:
    """Paths without `/v1` need `api-version` in the query."""
    if not is_versioned(request) and not api_version(request):
        yield {}


@rule(
    gateway_error(400, "api-version query parameter is not allowed when using /v1 path", "BadRequest"),
    reported("public clients of Foundry projects", "2026"),
    dialects=FOUNDRY,
    rejects=[Case({}, on=f"{ON_FOUNDRY}?api-version=v1")],
    accepts=[Case(VALID_BODY, on=ON_FOUNDRY)],
    since="2026-01-01",
    fix="Leave `api-version` out of the query.",
)
def version_not_allowed(request: Request) -> Iterator[Json]:
    """A project's path with `/v1` accepts no `api-version`."""
    if is_versioned(request) and api_version(request):
        yield {}


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
def version_unsupported(request: Request) -> Iterator[Json]:
    """Paths with `/v1` accept no dated version; one without it requires a date."""
    version = api_version(request)
    if version and version not in UNDATED_VERSIONS and (is_versioned(request) or not DATED_VERSION.fullmatch(version)):
        yield {}


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
def version_too_old(request: Request) -> Iterator[Json]:
    """Versions that precede the first one with the Responses API lack it."""
    version = api_version(request)
    if not is_versioned(request) and DATED_VERSION.fullmatch(version) and version[:10] < FIRST_VERSION[:10]:
        yield {}
