"""The Assistants API, which requires a beta header and has been shut down since 2026-08-26."""

from collections.abc import Iterator

from harness.api.http.dialects import AZURE, OPENAI
from harness.contract.rule import (
    LIMITED_ACCOUNT,
    Case,
    RuleScope,
    WorldView,
    assumed,
    matches_operation,
    reported,
    rule,
)
from harness.core.account import Organization
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

ASSISTANTS_V2 = "assistants=v2"
_KEY_HEADERS = {"authorization": "Bearer sk-harness-example", "content-type": "application/json"}

ASSISTANTS_OPERATIONS = ("* /assistants*", "* /threads*")
SCOPE = RuleScope(on=ASSISTANTS_OPERATIONS)


def is_assistants_operation(operation: str) -> bool:
    """Return whether an operation belongs to the Assistants API."""
    return matches_operation(ASSISTANTS_OPERATIONS, operation)


@rule(
    ApiError(404, "Invalid URL ({method} {path})"),
    reported("https://github.com/aallam/openai-kotlin/issues/470: the status", "2026-09-21"),
    assumed("that the words are those for a path that never was"),
    when=LIMITED_ACCOUNT,
    dialects=(OPENAI, AZURE),
    rejects={
        ("POST", "/v1/assistants"): Case(
            {"model": "gpt-4o"}, on="POST /assistants", account=Organization(assistants="gone")
        ),
        ("GET", "/v1/threads/thread_x"): Case(on="GET /threads/thread_x", account=Organization(assistants="gone")),
    },
    accepts=[Case({"model": "gpt-4o"}, on="POST /assistants", account=Organization(name="org-other"))],
    fix="Move to `POST /responses` with `conversation`; `mock.organization(assistants='v2')` brings the old API back.",
)
def assistants_gone(request: Request, world: WorldView) -> Iterator[Json]:
    """The Assistants API was shut down on 2026-08-26."""
    if world.account.assistants == "gone":
        yield {"method": request.method, "path": f"/v1{request.path}"}


@rule(
    bad_request(
        "The v1 Assistants API has been deprecated. Please try again by setting the header 'OpenAI-Beta: assistants=v2'. "
        "See the migration guide for more information: https://platform.openai.com/docs/assistants/migration.",
        code="invalid_beta",
    ),
    reported("https://github.com/supershaneski/openai-assistants-api-multi-user-sample/issues/4", "2025-03-01"),
    reported("https://github.com/PipedreamHQ/pipedream/issues/15059", "2024-12-23"),
    reported("https://github.com/JZO001/Forge.OpenAI/issues/25: the code", "2025-07-01"),
    dialects=OPENAI,
    rejects=[Case({}, on="POST /threads", headers={**_KEY_HEADERS, "openai-beta": "assistants=v1"})],
    since="2024-12-18",
    fix="Send `OpenAI-Beta: assistants=v2`; files and retrieval of version 1 are `tool_resources` and `file_search`.",
)
def beta_version_1(request: Request) -> Iterator[Json]:
    """Version 1 of the Assistants API has been gone since the end of 2024."""
    version = request.headers.get("openai-beta", "")
    if "assistants=v1" in version and ASSISTANTS_V2 not in version:
        yield {}


@rule(
    bad_request(
        "You must provide the 'OpenAI-Beta' header to access the Assistants API. Please try again by setting the header "
        "'OpenAI-Beta: assistants=v2'.",
        code="invalid_beta",
    ),
    reported("https://github.com/backmesh/openai-react-native/issues/10", "2025-01-17"),
    reported("https://github.com/openai-php/client/issues/700", "2025-10-07"),
    reported("https://github.com/openai/openai-ruby/issues/136", "2025-05-01"),
    dialects=OPENAI,
    rejects=[Case(on="GET /assistants", headers=_KEY_HEADERS)],
    accepts=[
        Case(on="GET /assistants", headers={**_KEY_HEADERS, "openai-beta": "realtime=v1, assistants=v2"}),
        Case(on="GET !/api/projects/p/assistants?api-version=v1", headers=_KEY_HEADERS),
    ],
    fix="Send the header `OpenAI-Beta: assistants=v2`, as the SDKs do below `client.beta`.",
)
def beta_missing(request: Request) -> Iterator[Json]:
    """The Assistants API requires its beta header, except on Azure; see `beta_version_1` for the first version."""
    beta = request.headers.get("openai-beta", "")
    if ASSISTANTS_V2 not in beta and "assistants=v1" not in beta:
        yield {}
