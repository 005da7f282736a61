"""Transport: the URL, the method, the content type, the JSON."""

from collections.abc import Iterator

from harness.api.http.dialects import OPENAI
from harness.api.operations import JSON_BODY, OPERATIONS
from harness.contract.phrasing import describe_actual, wrong_content_type
from harness.contract.rule import UNREADABLE_BODY, Case, RuleScope, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import AUTH_HEADERS
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(on=JSON_BODY)

PARSER_PROBE = "public probe of the platform's JSON parser"


@rule(
    ApiError(404, "Invalid URL ({method} {path})"),
    reported("https://github.com/harry0703/MoneyPrinterTurbo/issues/57", "2024-03-25"),
    reported("public probe of /v1/conversations/conv_…/messages", "2025-10-27"),
    dialects=OPENAI,
    on="unknown URL",
    rejects={
        ("POST", "/v1/response"): Case({}, on="POST /response"),
        ("POST", "/v1/responses/"): Case({}, on="POST /responses/"),
    },
    fix="Check the path: no trailing slash, and the client's base URL ends in `/v1`. Other APIs need another base URL.",
)
def unknown_url(request: Request) -> Iterator[Json]:
    """The path must be an endpoint; a trailing slash makes it a different one."""
    yield {"method": request.method, "path": f"/v1{request.path}"}


@rule(
    ApiError(
        404,
        "Unknown request URL: {method} {path}. Please check the URL for typos, or see the docs at "
        "https://platform.openai.com/docs/api-reference/.",
        code="unknown_url",
    ),
    reported("https://github.com/artificial-julien/docker-nginx-openai-api-cache/issues/2", "2024-02"),
    dialects=OPENAI,
    on="outside the API",
    rejects={("POST", "/responses"): Case({}, on="POST !/responses")},
    fix="The client's base URL must end in `/v1`.",
)
def outside_the_api(request: Request) -> Iterator[Json]:
    """Every path must begin with `/v1`."""
    yield {"method": request.method, "path": request.path}


@rule(
    ApiError(405, "Invalid method for URL ({method} {path})"),
    reported("public code that handles it, three of different origin", "2026-06-21"),
    dialects=OPENAI,
    on="wrong method",
    rejects={("PUT", "/v1/responses"): Case({}, on="PUT /responses")},
    fix="Use a method that the endpoint supports.",
)
def wrong_method(request: Request) -> Iterator[Json]:
    """The endpoint must support the method."""
    yield {"method": request.method, "path": f"/v1{request.path}"}


@rule(
    wrong_content_type("application/json"),
    reported("https://github.com/openai/openai-openapi/issues/194", "2024-02-13"),
    reported("https://github.com/openai/openai-openapi/issues/502", "2025-11-11"),
    reads="request.headers.content-type",
    rejects={"text/plain": Case({}, headers={**AUTH_HEADERS, "content-type": "text/plain"})},
    accepts=[
        Case({}, headers={**AUTH_HEADERS, "content-type": "application/json; charset=utf-8"}),
        Case({}, headers=AUTH_HEADERS),
    ],
    fix="Send `Content-Type: application/json`.",
)
def unsupported_content_type(request: Request) -> Iterator[Json]:
    """A body must be declared as `application/json`; parameters such as `charset`, or no header at all, are accepted.

    A `PATCH` in a Foundry project sends `application/merge-patch+json`; a body that may be a form is accepted as one.
    """
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if kind.lower() in ("application/json", *_MERGE_PATCH.get(request.method, ())):
        return
    operation = OPERATIONS.get(request.operation)
    if operation is None or not operation.reads_form(kind):
        yield {"type": kind}


_MERGE_PATCH = {"PATCH": ("application/merge-patch+json",)}


@rule(
    bad_request(
        "Invalid body: encountered a unicode decode error when parsing this JSON value. Please check the value to ensure "
        "it is valid unicode.",
        code="invalid_json",
    ),
    reported("public recording of a Foundry project's /openai/v1/responses", "2026"),
    reported(PARSER_PROBE, "2026-09"),
    when=UNREADABLE_BODY,
    rejects=[Case(raw=b'{"model": "gpt-4.1", "input": "\xff"}')],
    fix="Encode the body as UTF-8; do not compress it, the API does not look at Content-Encoding.",
)
def body_unicode(request: Request) -> bool:
    """The body must be UTF-8; a compressed body is not decompressed and fails here or as JSON."""
    return request.fault is not None and request.fault.kind == "unicode"


@rule(
    bad_request(
        "Invalid body: failed to parse JSON value. Please check the value to ensure it is valid JSON. (Common errors "
        "include trailing commas, missing closing brackets, missing quotation marks, etc.)",
        code="invalid_json",
    ),
    reported(PARSER_PROBE, "2026-09-23"),
    reported("public code that handles it, three of different origin", "2026-07"),
    recorded("microsoft/agent-framework: on /v1/conversations", "2025-10"),
    when=UNREADABLE_BODY,
    rejects=[Case(raw=b'{"model": ')],
    fix="Serialize the body with a JSON library; NaN and Infinity are not JSON.",
)
def body_syntax(request: Request) -> bool:
    """The body must be JSON."""
    return request.fault is not None and request.fault.kind == "syntax"


@rule(
    bad_request(
        "Invalid body: duplicate JSON key '{name}' at '{path}'. Duplicate JSON keys are not supported.",
        code="invalid_json",
    ),
    reported("public report from /v1/responses", "2026"),
    reported(PARSER_PROBE, "2026-09"),
    when=UNREADABLE_BODY,
    rejects={
        ("role", "input.role"): Case(
            raw=b'{"model": "gpt-4.1", "input": [{"role": "user", "role": "user", "content": "hi"}]}'
        )
    },
    fix="Send every name of an object once.",
)
def body_duplicate_key(request: Request) -> Iterator[Json]:
    """A name may occur only once in an object; the reported path leaves out array indices."""
    if request.fault and request.fault.kind == "duplicate":
        yield {"name": request.fault.name, "path": request.fault.path}


@rule(
    bad_request("Invalid type: expected an object, but got {kind} instead."),
    reported(PARSER_PROBE, "2026-09"),
    assumed("that this endpoint has the error of the platform's other endpoints"),
    when=UNREADABLE_BODY,
    rejects={"a string": Case(raw=b'"hi"')},
    accepts=[Case(raw=b'{"model": "gpt-4.1", "input": "hi"}')],
    fix="Send a JSON object.",
)
def body_not_object(request: Request) -> Iterator[Json]:
    """The body must be an object; an empty one counts as `{}`."""
    if not request.fault and not isinstance(request.body, dict):
        yield {"kind": describe_actual(request.body)}
