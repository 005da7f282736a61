"""Connections that break or wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.core.delivery import Gate
from harness.examine.case import Check, case, turns
from harness.examine.cases.common import ASKED, DEPLOY, always
from harness.examine.checks import fails, runs, shows, shows_or_fails
from harness.faults import cut, delay, hang_up, pause
from harness.items import function_call, message

CALL = function_call("deploy", {"ref": "v2"})
TCP = "TCP: a peer may close or reset a connection at any time"


def _broken(name: str, title: str, *checks: Check, script: Any, severity: str = "must", **words: Any) -> None:
    case(
        f"errors/{name}",
        *checks,
        title=title,
        does=words.pop("does", f"{title}."),
        source=TCP,
        shows=words.pop("shows", "An error."),
        severity=severity,
        fails=True,
        spare=True,
        task=replace(ASKED, **words.pop("task", {})),
        script=script,
        **words,
    )


_broken("no-answer", "Every connection closes before the first byte", fails(), script=always(hang_up()))
_broken(
    "reset-before-the-first-byte",
    "Every connection is reset before the first byte",
    fails(),
    script=always(hang_up(True)),
)
_broken(
    "reset-after-the-headers",
    "Every connection is reset after the headers",
    fails(),
    streams=(True,),
    script=always(cut(pause(message("Sunny."), after=0, seconds=0.05), after=0, reset=True)),
)
_broken(
    "cut-body",
    "The JSON of every answer breaks off",
    fails(),
    streams=(False,),
    script=always(cut(message("Sunny."), after=1)),
    shows="An error; half of a JSON text is no answer.",
)
_broken(
    "reset-once",
    "The first connection is reset before the first byte",
    shows("Sunny."),
    script=always(hang_up(True), message("Sunny.")),
    severity="should",
    shows="The request is sent again; the answer.",
)
_broken(
    "reset-after-a-call",
    "The request with the output of a call is reset once",
    shows_or_fails("v2 is live."),
    runs(("deploy", {"ref": "v2"})),
    task={"tools": (DEPLOY,)},
    script=always(CALL, hang_up(True), message("v2 is live.")),
    shows="The answer or the error; the function has run once.",
)
_broken(
    "no-headers",
    "The headers never come",
    fails(),
    task={"timeout": 0.5},
    script=always(pause(message("Sunny."), after=0, until=Gate())),
    shows="An error when the client's time is over.",
    streams=(False,),
)

case(
    "errors/slow-headers",
    shows("Sunny."),
    title="Slow headers",
    does="Nothing comes for a second, not even the headers.",
    source="recorded times to the first byte of models that reason, minutes",
    shows="The answer.",
    severity="must",
    states=("replay", "chain"),
    task=ASKED,
    script=turns(delay(message("Sunny."), seconds=1)),
)
