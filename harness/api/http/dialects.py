"""The provider and dialect of a request: OpenAI, Azure OpenAI or a project in Azure AI Foundry; the live API's address.

The dialect follows from the form of the path. A dialect's errors are in the rules `gateway`, `agents` and `filtered`, its
answers in `harness.endpoints.azure`; otherwise OpenAI's rules apply.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from harness.api.classic import omit_classic_members
from harness.core.errors import ConfigError
from harness.core.exchange import Json, Request
from harness.core.json_values import omit

PROVIDERS = ("openai", "azure", "foundry")
PROVIDER_HOSTS = {
    "api.openai.com": "openai",
    "openai.azure.com": "azure",
    "openai.azure.us": "azure",
    "cognitiveservices.azure.com": "azure",
    "cognitiveservices.azure.us": "azure",
    "services.ai.azure.com": "azure",
    "api.azureml.ms": "foundry",
}
"""The provider of a host and its subdomains; with the path of a Foundry project, an Azure host is `foundry`."""
PROVIDER_HEADERS = {
    "apim-request-id": "azure",
    "x-ms-region": "azure",
    "openai-version": "openai",
    "openai-processing-ms": "openai",
}
"""Headers of answers that identify the provider when a recording hides the host, most reliable first.

Azure repeats those of OpenAI.
"""

_PROJECTS = "/api/projects/"
_PROJECT_ROOT = rf"{_PROJECTS}[^/]+"
_WORKSPACE = r"/agents/v1\.0/subscriptions/[^/]+/resourceGroups/[^/]+/providers/[^/]+/workspaces/[^/]+"
_API_ROOT = re.compile(
    rf"/v1(?=/)|(?:{_PROJECT_ROOT}(?:/(?:agents/[^/]+/endpoint|applications/[^/]+)/protocols)?)?/openai(?:/v1|/deployments/[^/]+)?(?=/)"
    rf"|(?:{_PROJECT_ROOT}|{_WORKSPACE})(?=/(?:assistants|threads)(?:/|$))"
)
_OPENAI_MODEL = re.compile(r"(?:ft:)?(?:gpt-(?!oss)|chatgpt-|o[0-9]|codex-|computer-use-)")
_PLACEHOLDER_HOST = re.compile(
    r"[<{*\[%]|^\w*(?:sanitized|redacted|placeholder)|(?:^|\.)example\.(?:com|org|net)$", re.I
)


def root_of(path: str) -> str | None:
    """Return the root of the API in a path: `/v1`, `/openai`; None for a path of an unknown form."""
    found = _API_ROOT.match(path)
    return found[0] if found else None


def path_below_root(path: str) -> str | None:
    """Return the path below the API's root in OpenAI's form (`/responses/resp_1`); None for a path of an unknown form."""
    root = root_of(path)
    return None if root is None else path[len(root) :].rstrip("/") or None


@lru_cache(maxsize=256)
@lru_cache(maxsize=256)  # most exchanges of a recording have the same
def provider_of_host(host: str, path: str) -> str:
    """Return the provider at a host: openai, azure, foundry, or `""` for any other."""
    labels = host.lower().split(".")
    parents = [".".join(labels[index:]) for index in range(len(labels))]
    found = [PROVIDER_HOSTS[name] for name in parents if name in PROVIDER_HOSTS]
    return _foundry_by_path(found[0] if found else "", path)


def is_host_hidden(host: str) -> bool:
    """Return whether a recording omits the host or has a placeholder for it."""
    return not host or bool(_PLACEHOLDER_HOST.search(host))


def provider_by_headers(path: str, headers: Mapping[str, str]) -> str:
    """Return the provider by the headers of its answer; `""` if unknown. Only Foundry has the paths of projects."""
    if path.startswith(_PROJECTS):
        return "foundry"
    return next((PROVIDER_HEADERS[name] for name in PROVIDER_HEADERS if name in headers), "")


def guess_provider(path: str, request: Any, answer: Any) -> str:
    """Guess the provider by the model and the path."""
    models = [body.get("model") for body in (answer, request) if isinstance(body, dict)]
    if path_below_root(path) is None or not any(
        isinstance(model, str) and _OPENAI_MODEL.match(model) for model in models
    ):
        return ""
    # Only Azure reports content filters.
    filtered = isinstance(answer, dict) and "content_filters" in answer
    return _foundry_by_path("openai" if path.startswith("/v1/") and not filtered else "azure", path)


def _foundry_by_path(provider: str, path: str) -> str:
    return "foundry" if provider == "azure" and path.startswith(_PROJECTS) else provider


@lru_cache(maxsize=256)
def split_url(url: str) -> tuple[str, str, str]:
    """Split a recorded URL into host, path and query; the host may be missing or a placeholder."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", "", ""
    path = parts.path
    # Recorders that hide the host leave `host/path` or a placeholder instead.
    if not parts.netloc and not path.startswith("/"):
        before, slash, below = path.partition("/")
        host, path = (before if "." in before and not is_host_hidden(before) else ""), slash + below
    return host, path, parts.query


OPENAI, AZURE, FOUNDRY = PROVIDERS
AZURE_DIALECTS = (AZURE, FOUNDRY)
API_ROOTS: Mapping[str, str] = {OPENAI: "/v1", AZURE: "/openai/v1", FOUNDRY: "/api/projects/harness/openai/v1"}
"""The root of the API in each dialect, in its newest form; the project's name is arbitrary."""

VERSION_PARAMETER = "api-version"
"""Azure's query parameter with the version of the API."""
FIRST_VERSION = "2025-03-01-preview"
"""The first version of Azure OpenAI with the Responses API."""
DATED_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?")
UNDATED_VERSIONS = ("v1", "preview", "latest")
BLOB_ROOT = "/_blobs"
"""The path of containers of files in a mocked project; the service has them at another host."""
AGENT_REFERENCE = "agent_reference"
_OPERATIONS_OF_AGENTS = ("POST /responses", "WS /responses")
AGENT_MEMBERS = (AGENT_REFERENCE, "agent")
"""Members by which a request to Foundry names an agent, which has its own model, instructions and tools."""
PREVIEW_OF_AGENTS = "2025-11-15-preview"
"""The version, before agents were final, of a project's paths without `/v1`."""
FOUNDRY_REQUEST_MEMBERS = (*AGENT_MEMBERS, "structured_inputs", "agent_session_id")
"""Members that only requests to Foundry have: besides the agent, template inputs and a session.

The inputs fill the templates of the agent's instructions (recorded 2026-03-17); the session is recorded 2026-07-01, at
the agent's own endpoint.
"""
_FOUNDRY_MEMBERS = frozenset({AGENT_REFERENCE, "created_by", "response_id"})
"""Members of items that only Foundry has."""
_AGENT_ENDPOINT = re.compile(r"/api/projects/[^/]+/(?:agents/([^/]+)/endpoint|applications/([^/]+))/protocols/")
"""The paths below a single agent, or below the application as which it is published."""
_PROJECT = re.compile(r"/api/projects/[^/]+(?=/(?!openai(?:/|$)))")
"""The root of a project, below which its agents and other resources are managed."""
_PER_DEPLOYMENT = re.compile(r"/openai/deployments/")


class ApiPath(NamedTuple):
    """The parts of a path: its dialect, the API's root (empty if the form is unknown) and the path below it."""

    dialect: str
    root: str
    endpoint_path: str


def check_dialect(name: str | None) -> str | None:
    """Return the name of a known dialect, or None for all dialects; ConfigError for an unknown name."""
    if name is not None and name not in PROVIDERS:
        raise ConfigError(f"dialect={name!r}: use one of {', '.join(PROVIDERS)}; leave it out for all of them.")
    return name


@lru_cache(maxsize=256)
def parse_api_path(path: str, only: str | None = None) -> ApiPath:
    """Parse a path; with `only`, a path of another dialect has an unknown form."""
    found = ApiPath(OPENAI, "/v1", path[3:]) if path.startswith("/v1/") else _parse_other_path(path, only)
    return found if only is None or found.dialect == only else ApiPath(only, "", path)


def _parse_other_path(path: str, only: str | None) -> ApiPath:
    """Parse a path outside `/v1`; one below a deployment (completions) is not mocked and has no root."""
    project = _PROJECT.match(path)
    root = "" if _PER_DEPLOYMENT.match(path) else root_of(path) or (project[0] if project else "")
    if path.startswith(("/api/projects/", "/agents/v1.0/")):
        dialect = FOUNDRY
    else:
        dialect = AZURE if path.startswith("/openai/") else only or OPENAI
    return ApiPath(dialect, root, path[len(root) :])


def api_version(request: Request) -> str:
    """Return the version in the query; the first one if there are two."""
    version = request.query.get(VERSION_PARAMETER) or ""
    return version if isinstance(version, str) else str(version[0])


def is_versioned(request: Request) -> bool:
    """Return whether the path has the API's version (`…/v1`) or is that of a blob, so that the query needs none."""
    return request.root.endswith("/v1") or request.path.startswith(f"{BLOB_ROOT}/")


def is_preview_of_agents(request: Request) -> bool:
    """Return whether a request asks Foundry for the version before agents were final; recorded 2025-11 to 2026-03."""
    return request.dialect == FOUNDRY and not is_versioned(request) and api_version(request) == PREVIEW_OF_AGENTS


def agent_of(request: Request) -> Any:
    """Return the agent that a request to Foundry names in its body or path; None if it names none."""
    if request.dialect != FOUNDRY or not isinstance(request.body, dict):
        return None
    if named := request.body.get(AGENT_REFERENCE) or request.body.get("agent"):
        return named
    endpoint = _AGENT_ENDPOINT.match(request.root)
    return {"type": AGENT_REFERENCE, "name": endpoint[1] or endpoint[2]} if endpoint else None


def application_of(request: Request) -> str:
    """Return the application in a request to a published agent; empty for any other."""
    endpoint = _AGENT_ENDPOINT.match(request.root) if request.dialect == FOUNDRY else None
    return (endpoint[2] or "") if endpoint else ""


USER_IDENTITY = "x-ms-user-identity"
"""The header by which a service names the user on whose behalf it sends a request to a project."""


def user_of(request: Request) -> str:
    """Return the user on whose behalf a request is sent; empty for the client itself."""
    return request.headers.get(USER_IDENTITY, "")


def is_at_agent_endpoint(request: Request) -> bool:
    """Return whether a request is sent to an agent's own endpoint, or to the application as which it is published."""
    return request.dialect == FOUNDRY and _AGENT_ENDPOINT.match(request.root) is not None


def apply_agent(request: Request) -> Request:
    """Name the agent of a request to Foundry in its body, with the model `""`, and drop Foundry's members of items.

    A request may consist of only a conversation (recorded 2026-02-26 to 2026-06-26): its `input` is then empty.
    """
    body = request.body
    if request.dialect != FOUNDRY or not isinstance(body, dict):
        return request
    own = dict(body)
    if isinstance(items := body.get("input"), list):
        own["input"] = [_omit_foundry_members(item) for item in items]
    elif items is None and body.get("conversation") and request.operation.startswith(_OPERATIONS_OF_AGENTS):
        own["input"] = []
    if request.operation.startswith(_OPERATIONS_OF_AGENTS) and isinstance(agent := agent_of(request), dict):
        # Public clients leave the model of an agent empty.
        sent = {name: value for name, value in own.items() if value is not None and (name, value) != ("model", "")}
        own = {"model": "", AGENT_REFERENCE: agent, **sent}
    return request._replace(body=own)


def add_definition(request: Request, definition: Json) -> Request:
    """Add the definition of the agent named in a request's body, except for members that the client has set."""
    body = request.body
    if not definition or not request.operation.startswith(_OPERATIONS_OF_AGENTS) or not isinstance(body, dict):
        return request
    sent = {name: value for name, value in body.items() if (name, value) != ("model", "")}
    if not isinstance(agent := sent.get(AGENT_REFERENCE), dict):
        return request
    return request._replace(body={"model": "", AGENT_REFERENCE: agent, **definition, **sent})


def _omit_foundry_members(item: Any) -> Any:
    if not isinstance(item, dict) or _FOUNDRY_MEMBERS.isdisjoint(item):
        return item
    return omit(item, *_FOUNDRY_MEMBERS)


FOUNDRY_QUERY = {"GET /conversations/{conversation_id}/items": ("item_type",)}
"""Query parameters that only a project has, by operation. Recorded 2026-02-12."""


def omit_dialect_members(request: Request) -> Any:
    """Omit the members of the request's dialect from the body, or else the query, for validation by the schema."""
    members = request.query if request.body is None else request.body
    if request.dialect == OPENAI or not isinstance(members, dict):
        return members
    if members is request.query:
        own = (VERSION_PARAMETER, *(FOUNDRY_QUERY.get(request.operation, ()) if request.dialect == FOUNDRY else ()))
    else:
        own = FOUNDRY_REQUEST_MEMBERS if request.dialect == FOUNDRY else ()
    shown = {name: value for name, value in members.items() if name not in own}
    return omit_classic_members(request.operation, shown) if request.dialect == FOUNDRY else shown


BASE_URL_VARIABLE = "OPENAI_BASE_URL"
AZURE_VARIABLE = "AZURE_OPENAI_ENDPOINT"
PROJECT_VARIABLES = ("AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT", "PROJECT_ENDPOINT")
"""The environment variables with a project's endpoint, as read by samples and frameworks."""
_ROOT_ADVICE = "Pass the API's root, such as https://api.openai.com/v1"


class Upstream(NamedTuple):
    """The API behind a URL: `origin` is `https://api.openai.com`, `root` the path of its root (`/v1`).

    `has_explicit_root` says whether the URL contains the root, or only the host (and in Foundry the project).
    """

    origin: str
    root: str
    dialect: str
    has_explicit_root: bool

    def to_api_path(self, path: str) -> str:
        """Translate a path to one of the API, replacing the root of a gateway with `/v1`."""
        own = root_of(f"{self.root}/") is None and f"{path}/".startswith(f"{self.root}/")
        return API_ROOTS[OPENAI] + path[len(self.root) :] if own else path


def parse_upstream(url: str) -> Upstream:
    """Parse the URL of an API; ConfigError if it is invalid."""
    parts = _split_checked(url)
    path = parts.path.rstrip("/")
    if path.endswith(("/responses", "/chat/completions")):
        raise ConfigError(f"--upstream {url}: this is an endpoint. {_ROOT_ADVICE}.")
    host = parts.hostname or ""
    dialect = provider_of_host(host, f"{path}/") or parse_api_path(f"{path}/responses").dialect
    below = {OPENAI: API_ROOTS[OPENAI], AZURE: API_ROOTS[AZURE], FOUNDRY: f"{path}{API_ROOTS[AZURE]}"}[dialect]
    named = bool(path) if dialect == OPENAI else path.endswith(("/v1", "/openai"))
    return Upstream(f"{parts.scheme}://{parts.netloc}", path if named else below, dialect, named)


def _split_checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        fault = "" if parts.port != 0 else "port 0 is none"
    except ValueError as problem:
        raise ConfigError(f"--upstream {url}: {problem}. {_ROOT_ADVICE}.") from problem
    if parts.username or parts.password:
        raise ConfigError(
            f"--upstream: the URL contains a password. Leave it out; the command's own key is sent. {_ROOT_ADVICE}."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        fault = "this is no http:// or https:// URL"
    elif parts.query or parts.fragment:
        fault = "it has a query or a fragment"
    if fault:
        raise ConfigError(f"--upstream {url}: {fault}. {_ROOT_ADVICE}.")
    return parts


def unreachable_advice(setting: str, why: str) -> str:
    """Return advice for an unreachable API and this reason; `setting` is the option or variable with its address."""
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return "Name the file of its certificates in SSL_CERT_FILE."
    return f"Is {setting} right, and is the API up?"


def redirected_environment(behind: Upstream, here: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the changes to a command's environment that redirect it to `here` (`http://127.0.0.1:8765`).

    They change every variable with the API's origin, and those that its SDKs read. `OPENAI_BASE_URL` is not set in
    addition to an Azure endpoint unless its URL names a base URL: the SDK for Node rejects both together.
    """
    moved = {
        name: here + value[len(behind.origin) :]
        for name, value in environment.items()
        if _leads_to(value, behind.origin)
    }
    own: dict[str, str] = {}
    if behind.dialect != AZURE or (behind.has_explicit_root and behind.root.endswith("/v1")):
        own[BASE_URL_VARIABLE] = here + behind.root
    if behind.dialect == AZURE:
        own[AZURE_VARIABLE] = here
    if behind.dialect == FOUNDRY:
        own |= dict.fromkeys(PROJECT_VARIABLES, here + behind.root.removesuffix(API_ROOTS[AZURE]))
    host = urlsplit(here).hostname or ""
    direct = {name: ",".join(filter(None, [host, environment.get(name)])) for name in ("NO_PROXY", "no_proxy")}
    return {**moved, **own, **direct}


def _leads_to(value: str, origin: str) -> bool:
    return value.lower().startswith(origin.lower()) and value[len(origin) :][:1] in ("", "/")
