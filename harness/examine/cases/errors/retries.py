"""Errors that pass: the client waits and asks again, or tells its user; what has run does not run again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from harness.core.exchange import Request
from harness.examine.case import Script, case
from harness.examine.cases.common import ASKED, ASKED_TWICE, DEPLOY, always
from harness.examine.cases.session_checks import repeats_nothing
from harness.examine.checks import requests, runs, shows, shows_or_fails
from harness.faults import http_error, overloaded, rate_limit, server_error
from harness.items import function_call, message
from harness.world.mock import Mock
from harness.world.route import Turn

WAIT_MS = 300
CALL = function_call("deploy", {"ref": "v2"})
GUIDE = "the API's guide to rate limits and errors, 2026-10: retry with backoff"


def _limited(**headers: str) -> Script:
    """A script that refuses until the time that its first refusal names is over."""
    limit = http_error(
        429, "Rate limit reached for gpt-5.", code="rate_limit_exceeded", type="requests", headers=headers
    )

    def script(mock: Mock) -> None:
        def model(request: Request) -> Iterator[Any]:
            began = time.monotonic()
            yield limit
            while time.monotonic() - began < WAIT_MS / 1000 * 0.9:
                yield limit
            yield message("Sunny.")

        mock.script(model)

    return script


case(
    "errors/429-retry-after-ms",
    shows("Sunny."),
    requests(2),
    title="A rate limit that says how long",
    does=f"The first request gets 429 with `retry-after-ms: {WAIT_MS}`; whoever comes earlier is refused again.",
    source="recorded headers of 429, 2025 and 2026",
    shows="It waits so long, once; then the answer.",
    severity="should",
    spare=True,
    task=ASKED,
    script=_limited(**{"retry-after-ms": str(WAIT_MS), "retry-after": "1"}),
)

case(
    "errors/429-retry-after",
    shows("Sunny."),
    requests(2),
    title="A rate limit in seconds",
    does="The first request gets 429 with `retry-after: 1` and no milliseconds.",
    source="RFC 9110, 10.2.3; recorded of gateways",
    shows="It waits a second; then the answer.",
    severity="should",
    states=("replay", "chain"),
    spare=True,
    task=ASKED,
    script=_limited(**{"retry-after": "1"}),
)

case(
    "errors/429-headers",
    shows_or_fails("Sunny."),
    title="A rate limit with all of its headers",
    does="The first request gets 429 with `retry-after-ms` and `x-ratelimit-*`.",
    source="recorded headers of 429, 2025 and 2026",
    shows="The answer after a wait, or the error: no crash.",
    severity="must",
    fails=True,
    spare=True,
    task=ASKED,
    script=always(rate_limit("50ms"), message("Sunny.")),
)


def _passes(name: str, title: str, *turns: Turn) -> None:
    case(
        f"errors/{name}",
        shows("Sunny."),
        title=title,
        does=f"{title}, then the answer.",
        source=GUIDE,
        shows="The request is sent again; the answer.",
        severity="should",
        spare=True,
        task=ASKED,
        script=always(*turns, message("Sunny.")),
    )


_passes("500-once", "A 500", server_error())
_passes("503-once", "A 503", overloaded())

for name, error in (("500", server_error()), ("503", overloaded()), ("429", rate_limit("50ms"))):
    case(
        f"errors/{name}-after-a-call",
        shows_or_fails("v2 is live."),
        runs(("deploy", {"ref": "v2"})),
        title=f"A {name} after a call",
        does=f"The model calls a function; the request with its output gets {name} once.",
        source=f"{GUIDE}; public reports of doubled side effects, 2025",
        shows="The answer or the error; the function has run once.",
        severity="must",
        fails=True,
        spare=True,
        task=replace(ASKED, tools=(DEPLOY,)),
        script=always(CALL, error, message("v2 is live.")),
    )

case(
    "errors/session-after-an-error",
    shows_or_fails("Sunny.", "Rain."),
    repeats_nothing(),
    title="The session after a 500",
    does="The second prompt gets 500 once.",
    source=GUIDE,
    shows="Both answers, or the error: each prompt stands in the history once.",
    severity="must",
    fails=True,
    spare=True,
    task=ASKED_TWICE,
    script=always(message("Sunny."), server_error(), message("Rain.")),
)
