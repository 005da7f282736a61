"""Errors before an answer: refusals, limits, failing servers and connections."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.core.delivery import Gate
from harness.core.exchange import Request
from harness.examine.case import ASKED, ASKED_TWICE, DEPLOY, Script, always, case, turns
from harness.examine.checks import fails, repeats_nothing, requests, runs, shows, shows_or_fails
from harness.faults import cut, delay, hang_up, http_error, overloaded, pause, rate_limit, server_error
from harness.items import function_call, message

RECORDED = "recorded, 2025 and 2026; the API's guide to error codes"


def _refused(name: str, title: str, status: int, message: str, most: int = 1, **words: Any) -> None:
    case(
        f"errors/{name}",
        title=title,
        does=f"Every request gets {status}: {message}",
        source=words.pop("source", RECORDED),
        shows="The API's words and status"
        + ("; the request is not sent again." if most == 1 else "; the client does not go on for ever."),
        severity=words.pop("severity", "must"),
        script=always(http_error(status, message, **words)),
        checks=[fails(message, status=status), requests(1, most)],
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
    title="A bad request after a call",
    does="The model calls a function; the request with its output gets 400.",
    source="the five stories, docs/stories/README.md: refused after a tool had run",
    shows="The API's words; the function is not run again.",
    task=replace(ASKED, tools=(DEPLOY,)),
    script=always(function_call("deploy", {"ref": "v2"}), http_error(400, "Invalid value: 'input_file'.")),
    checks=[fails("Invalid value", status=400), runs(("deploy", {"ref": "v2"}))],
)

WAIT_MS = 300
CALL = function_call("deploy", {"ref": "v2"})
RETRY_GUIDE = "the API's guide to rate limits and errors, 2026-10: retry with backoff"


def _limited(**headers: str) -> Script:
    """Build a script that refuses until the delay named in its first refusal is over."""
    limit = http_error(
        429, "Rate limit reached for gpt-5.", code="rate_limit_exceeded", type="requests", headers=headers
    )

    def model(request: Request) -> Iterator[Any]:
        began = time.monotonic()
        yield limit
        while time.monotonic() - began < WAIT_MS / 1000 * 0.9:
            yield limit
        yield message("Sunny.")

    return turns(model)


case(
    "errors/429-retry-after-ms",
    title="A rate limit that says how long",
    does=f"The first request gets 429 with `retry-after-ms: {WAIT_MS}`; whoever comes earlier is refused again.",
    source="recorded headers of 429, 2025 and 2026",
    shows="It waits so long, once; then the answer.",
    severity="should",
    spare=True,
    script=_limited(**{"retry-after-ms": str(WAIT_MS), "retry-after": "1"}),
    checks=[shows("Sunny."), requests(2)],
)

case(
    "errors/429-retry-after",
    title="A rate limit in seconds",
    does="The first request gets 429 with `retry-after: 1` and no milliseconds.",
    source="RFC 9110, 10.2.3; recorded of gateways",
    shows="It waits a second; then the answer.",
    severity="should",
    states=("replay", "chain"),
    spare=True,
    script=_limited(**{"retry-after": "1"}),
    checks=[shows("Sunny."), requests(2)],
)

case(
    "errors/429-headers",
    title="A rate limit with all of its headers",
    does="The first request gets 429 with `retry-after-ms` and `x-ratelimit-*`.",
    source="recorded headers of 429, 2025 and 2026",
    shows="The answer after a wait, or the error: no crash.",
    spare=True,
    script=always(rate_limit("50ms"), message("Sunny.")),
    checks=[shows_or_fails("Sunny.")],
)

for name, error in (("500", server_error()), ("503", overloaded())):
    case(
        f"errors/{name}-once",
        title=f"A {name}",
        does=f"A {name}, then the answer.",
        source=RETRY_GUIDE,
        shows="The request is sent again; the answer.",
        severity="should",
        spare=True,
        script=always(error, message("Sunny.")),
        checks=[shows("Sunny.")],
    )

for name, error in (("500", server_error()), ("503", overloaded()), ("429", rate_limit("50ms"))):
    case(
        f"errors/{name}-after-a-call",
        title=f"A {name} after a call",
        does=f"The model calls a function; the request with its output gets {name} once.",
        source=f"{RETRY_GUIDE}; public reports of doubled side effects, 2025",
        shows="The answer or the error; the function has run once.",
        spare=True,
        task=replace(ASKED, tools=(DEPLOY,)),
        script=always(CALL, error, message("v2 is live.")),
        checks=[shows_or_fails("v2 is live."), runs(("deploy", {"ref": "v2"}))],
    )

case(
    "errors/session-after-an-error",
    title="The session after a 500",
    does="The second prompt gets 500 once.",
    source=RETRY_GUIDE,
    shows="Both answers, or the error: each prompt stands in the history once.",
    spare=True,
    task=ASKED_TWICE,
    script=always(message("Sunny."), server_error(), message("Rain.")),
    checks=[shows_or_fails("Sunny.", "Rain."), repeats_nothing()],
)

TCP = "TCP: a peer may close or reset a connection at any time"


def _broken(name: str, title: str, **words: Any) -> None:
    case(
        f"errors/{name}",
        title=title,
        does=words.pop("does", f"{title}."),
        source=TCP,
        shows=words.pop("shows", "An error."),
        fails=True,
        task=replace(ASKED, **words.pop("task", {})),
        **words,
    )


_broken("no-answer", "Every connection closes before the first byte", checks=[fails()], script=always(hang_up()))
_broken(
    "reset-before-the-first-byte",
    "Every connection is reset before the first byte",
    checks=[fails()],
    script=always(hang_up(True)),
)
_broken(
    "reset-after-the-headers",
    "Every connection is reset after the headers",
    checks=[fails()],
    streams=(True,),
    script=always(cut(pause(message("Sunny."), after=0, seconds=0.05), after=0, reset=True)),
)
_broken(
    "cut-body",
    "The JSON of every answer breaks off",
    checks=[fails()],
    streams=(False,),
    script=always(cut(message("Sunny."), after=1)),
    shows="An error; half of a JSON text is no answer.",
)
_broken(
    "reset-once",
    "The first connection is reset before the first byte",
    checks=[shows("Sunny.")],
    script=always(hang_up(True), message("Sunny.")),
    severity="should",
    shows="The request is sent again; the answer.",
)
_broken(
    "reset-after-a-call",
    "The request with the output of a call is reset once",
    checks=[shows_or_fails("v2 is live."), runs(("deploy", {"ref": "v2"}))],
    task={"tools": (DEPLOY,)},
    script=always(CALL, hang_up(True), message("v2 is live.")),
    shows="The answer or the error; the function has run once.",
)
_broken(
    "no-headers",
    "The headers never come",
    checks=[fails()],
    task={"timeout": 0.5},
    script=always(pause(message("Sunny."), after=0, until=Gate())),
    shows="An error when the client's time is over.",
    streams=(False,),
)

case(
    "errors/slow-headers",
    title="Slow headers",
    does="Nothing comes for a second, not even the headers.",
    source="recorded times to the first byte of models that reason, minutes",
    shows="The answer.",
    states=("replay", "chain"),
    script=turns(delay(message("Sunny."), seconds=1)),
    checks=[shows("Sunny.")],
)
