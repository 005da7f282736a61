"""Requests that the API refuses: its words reach the user, and nothing is sent again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.examine.case import case
from harness.examine.cases.common import ASKED, DEPLOY, always
from harness.examine.checks import fails, requests, runs
from harness.faults import http_error
from harness.items import function_call

RECORDED = "recorded, 2025 and 2026; the API's guide to error codes"


def _refused(name: str, title: str, status: int, message: str, most: int = 1, **words: Any) -> None:
    case(
        f"errors/{name}",
        fails(message, status=status),
        requests(1, most),
        title=title,
        does=f"Every request gets {status}: {message}",
        source=words.pop("source", RECORDED),
        shows="The API's words and status"
        + ("; the request is not sent again." if most == 1 else "; the client does not go on for ever."),
        severity=words.pop("severity", "must"),
        fails=True,
        task=replace(ASKED, **words.pop("task", {})),
        script=always(http_error(status, message, **words)),
    )


_refused("400", "A bad request", 400, "Invalid value: 'hologram'.", code="invalid_value", param="input[0]")
_refused(
    "400-context-window",
    "Too long for the model",
    400,
    "Your input exceeds the context window of this model.",
    code="context_length_exceeded",
    param="input",
)
_refused(
    "400-without-code",
    "A bad request without a code",
    400,
    "We could not parse the JSON body of your request.",
    source="recorded: `code` and `param` are null",
)
_refused("401", "A wrong key", 401, "Incorrect API key provided: sk-...key.", code="invalid_api_key")
_refused("403", "No permission", 403, "Project `proj_1` does not have access to model `gpt-5`.", code="model_not_found")
_refused("404", "No such model", 404, "The model `gpt-5` does not exist.", code="model_not_found", param="model")
_refused(
    "409",
    "A conflict",
    409,
    "Another process is operating on this conversation.",
    6,
    code="conversation_locked",
)
_refused(
    "413", "Too large", 413, "The request is larger than the maximum of 512 MB.", source="the gateway of the API, 2025"
)
_refused(
    "429-quota",
    "No credit",
    429,
    "You exceeded your current quota, please check your plan and billing details.",
    6,
    code="insufficient_quota",
    type="insufficient_quota",
)
_refused(
    "500-always",
    "A server that always fails",
    500,
    "The server had an error while processing your request.",
    6,
    type="server_error",
)
_refused(
    "error-of-another-form",
    "An error of another form",
    502,
    "Bad Gateway",
    6,
    body={"detail": "Bad Gateway"},
    source="gateways before the API; public reports, 2025",
    severity="should",
)

case(
    "errors/400-after-a-call",
    fails("Invalid value", status=400),
    runs(("deploy", {"ref": "v2"})),
    title="A bad request after a call",
    does="The model calls a function; the request with its output gets 400.",
    source="the five stories, docs/stories/README.md: refused after a tool had run",
    shows="The API's words; the function is not run again.",
    severity="must",
    fails=True,
    task=replace(ASKED, tools=(DEPLOY,)),
    script=always(function_call("deploy", {"ref": "v2"}), http_error(400, "Invalid value: 'input_file'.")),
)
