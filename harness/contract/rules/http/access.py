"""Access: the key, its permissions, its limits."""

from collections.abc import Iterator
from math import ceil

from harness.api.http.dialects import OPENAI
from harness.contract.rule import (
    LIMITED_ACCOUNT,
    UNKNOWN_KEY,
    Case,
    RuleScope,
    WorldView,
    assumed,
    documented,
    recorded,
    reported,
    rule,
)
from harness.core.account import Organization, RateLimit, show_wait
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object

SCOPE = RuleScope(on="*", reads=())

CHALLENGE = {"www-authenticate": 'Bearer realm="OpenAI API"'}


def mask_key(key: str) -> str:
    """Mask a key as the API prints it: a key longer than 12 characters shows the first 8 and last 4 around stars."""
    if not key:
        return "''"
    return key if len(key) <= 12 else f"{key[:8]}{'*' * (len(key) - 12)}{key[-4:]}"


@rule(
    ApiError(401, "Missing bearer or basic authentication in header", headers=CHALLENGE),
    reported("https://github.com/openai/openai-cookbook/issues/2347", "2026-01-04"),
    reported("https://github.com/openclaw/openclaw/issues/150825", "2026-09-17"),
    reads="request.headers.authorization",
    dialects=OPENAI,
    rejects=[Case({}, headers={})],
    fix="Send `Authorization: Bearer <key>`; with an SDK, set `api_key` or the environment variable OPENAI_API_KEY.",
)
def auth_missing(request: Request) -> bool:
    """Requests must carry a bearer token.

    Another scheme, or a missing token, counts as none.
    """
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() != "bearer" or not key.strip()


@rule(
    ApiError(
        401,
        "Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys.",
        code="invalid_api_key",
        headers=CHALLENGE,
        body_template={
            "error": {"message": "{message}", "type": "{type}", "code": "{code}", "param": "{param}"},
            "status": "{status}",
        },
    ),
    recorded("crmne/ruby_llm", "2026-08-19"),
    recorded("posit-dev/chatlas, open-telemetry/opentelemetry-python-contrib: without `status`", "2026-02-12"),
    reported("public logs of nine origins, from 2026-03-20 on: `status`, and the order of the members", "2026-10"),
    dialects=OPENAI,
    when=UNKNOWN_KEY,
    reads="request.headers.authorization",
    rejects={
        "test-con****-key": Case({}, headers={"authorization": "Bearer test-connect-key"}),
        "bad apiKey": Case({}, headers={"authorization": "Bearer bad apiKey"}),
    },
    fix="Use a key the server knows; the mock accepts any key that starts with `sk-` unless it was started with `--keys`.",
)
def auth_invalid_key(request: Request) -> Iterator[Json]:
    """The key must be known; the message shows it masked.

    Up to 12 characters are shown completely; a longer key shows its first 8 and last 4 characters around stars.
    """
    yield {"key": mask_key(request.headers["authorization"].partition(" ")[2].strip())}


@rule(
    ApiError(
        401,
        "You have insufficient permissions for this operation. Missing scopes: {scope}. Check that you have the correct "
        "role in your organization (Reader, Writer, Owner) and project (Member, Owner), and if you're using a restricted "
        "API key, that it has the necessary scopes.",
        code="missing_scope",
    ),
    reported("public client tables that handle it, three of different origin", "2026"),
    dialects=OPENAI,
    when=LIMITED_ACCOUNT,
    rejects={"api.responses.write": Case(account=Organization(scopes=frozenset()))},
    accepts=[Case(account=Organization(scopes=frozenset(["api.responses.write"])))],
    fix="Give the key the missing scope: `mock.organization(scopes={'api.responses.write'})`.",
)
def auth_missing_scope(request: Request, world: WorldView) -> Iterator[Json]:
    """Restricted keys need the scope of the operation: `api.responses.write` or `api.responses.read`."""
    granted = world.account.scopes
    scope = f"api.responses.{'read' if request.method == 'GET' else 'write'}"
    if granted is not None and scope not in granted:
        yield {"scope": scope}


@rule(
    ApiError(500, "The server had an error while processing your request. Sorry about that!", type="server_error"),
    documented("https://platform.openai.com/docs/guides/error-codes"),
    reported("alexrudall/ruby-openai fixtures"),
    when=LIMITED_ACCOUNT,
    rejects=[Case(account=Organization(failing=True))],
    fix="Scripted: `mock.organization(failing=False)` ends it. Retry with backoff.",
)
def server_error(world: WorldView) -> bool:
    """Failing backends answer 500, which SDKs retry."""
    return world.account.failing


@rule(
    ApiError(
        503,
        "Our servers are currently overloaded. Please try again later.",
        code="server_is_overloaded",
        type="service_unavailable_error",
    ),
    reported("https://github.com/Wei-Shaw/sub2api/issues/6631: as the `error` of a stream", "2026-09-05"),
    documented("https://platform.openai.com/docs/guides/error-codes: the status"),
    assumed("that the body of a 503 has the words that are reported of a stream"),
    when=LIMITED_ACCOUNT,
    rejects=[Case(account=Organization(overloaded=True))],
    fix="Scripted: `mock.organization(overloaded=False)` ends it. Retry with backoff.",
)
def server_is_overloaded(world: WorldView) -> bool:
    """Providers that lack capacity answer 503, which SDKs retry."""
    return world.account.overloaded


_OUT_OF_QUOTA = Case(account=Organization(out_of_quota=True))
_ADD_CREDITS = "Scripted: `mock.organization(out_of_quota=False)` ends it. Waiting does not help with the real API."


@rule(
    ApiError(
        429,
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
        "read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        code="insufficient_quota",
        type="insufficient_quota",
    ),
    recorded("vercel/ai: in a stream"),
    documented("https://platform.openai.com/docs/guides/error-codes"),
    when=LIMITED_ACCOUNT,
    rejects=[_OUT_OF_QUOTA],
    until="2026-07",
    fix=_ADD_CREDITS,
)
def insufficient_quota(world: WorldView) -> bool:
    """Organizations without credit were refused with 429; the `type` of the error is its `code`."""
    return world.account.out_of_quota


@rule(
    ApiError(
        429,
        "You have no credits remaining. Add credits to continue using the API at "
        "https://platform.openai.com/settings/organization/billing/.",
        code="credit_balance_exhausted",
        type="insufficient_quota",
    ),
    reported("https://github.com/dyad-sh/dyad/issues/4184: the words", "2026-08-03"),
    reported("public logs of five more origins, two with the whole error", "2026-10"),
    documented("https://developers.openai.com/api/docs/guides/error-codes: the code and the type", "2026-11"),
    when=LIMITED_ACCOUNT,
    rejects=[_OUT_OF_QUOTA],
    since="2026-08",
    fix=_ADD_CREDITS,
)
def credit_balance_exhausted(world: WorldView) -> bool:
    """Organizations without credit are refused with 429; the `code` says why, the `type` is that of all such errors."""
    return world.account.out_of_quota


@rule(
    ApiError(
        429,
        "Rate limit reached for {model} in organization {organization} on {what}: Limit {limit}, Used {used}, Requested "
        "{requested}. Please try again in {reset}. Visit https://platform.openai.com/account/rate-limits to learn more.",
        code="rate_limit_exceeded",
        type="{kind}",
        headers={
            "retry-after": "{wait}",
            "retry-after-ms": "{wait_ms}",
            "x-ratelimit-limit-{kind}": "{limit}",
            "x-ratelimit-remaining-{kind}": "{remaining}",
            "x-ratelimit-reset-{kind}": "{reset}",
        },
    ),
    documented("https://platform.openai.com/docs/guides/rate-limits"),
    reported("public reports of three origins", "2026"),
    dialects=OPENAI,
    when=LIMITED_ACCOUNT,
    reads="model",
    rejects={
        ("gpt-4.1", "org-harness", "requests per min (RPM)", "3", "3", "1", "20s"): Case(
            account=Organization(rate_limit=RateLimit(3, 3, 1, seconds=20.0))
        )
    },
    fix="Wait as the headers `retry-after` and `retry-after-ms` say, then try again.",
)
def rate_limit(request: Request, world: WorldView) -> Iterator[Json]:
    """Requests over the limit are refused with 429; the type is `requests` or `tokens`."""
    account = world.account
    if limit := account.rate_limit:
        body = as_object(request.body)
        yield {
            "model": body.get("model", "default"),
            "organization": account.name,
            "what": limit.what,
            "limit": limit.limit,
            "used": limit.used,
            "requested": limit.requested,
            "reset": show_wait(limit.seconds),
            "kind": limit.kind,
            "remaining": max(0, limit.limit - limit.used),
            "wait": ceil(limit.seconds),
            "wait_ms": ceil(limit.seconds * 1000),
        }
