"""The deployments of Azure OpenAI and Azure AI Foundry: who may use them, how often, and which ones exist."""

import re
from collections.abc import Iterator
from math import ceil

from harness.api.http.dialects import AZURE, AZURE_DIALECTS, FIRST_VERSION, FOUNDRY, agent_of
from harness.contract.rule import CREATE_RESPONSE, LIMITED_ACCOUNT, Case, RuleScope, WorldView, reported, rule
from harness.contract.rules.example_requests import (
    HELPER_REFERENCE,
    ON_AZURE,
    ON_CLASSIC,
    ON_FOUNDRY,
    PROJECT_PATH,
    VALID_BODY,
)
from harness.contract.rules.http.azure.gateway import gateway_error
from harness.core.account import Organization, RateLimit
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

SCOPE = RuleScope(area="gateway", when=LIMITED_ACCOUNT)

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
def deployment_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`model` must name a deployment; unless the account lists them, any name does except an empty one.

    With an agent, an empty one is ignored: agent-framework's `FoundryAgent` sends it on every turn but the first.
    """
    name = request.body.get("model") if isinstance(request.body, dict) else None
    listed = world.account.models
    if name == "" and agent_of(request):
        return
    if isinstance(name, str) and (not name if listed is None else name not in listed):
        yield {}
