"""`responses-harness drift`: sends recorded requests to the live API again, and compares old, new and mock's answers."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import harness.foundry  # noqa: F401  (registers every rule)
from harness.api.http.dialects import parse_upstream
from harness.cassettes.format.untrusted import NotARecording
from harness.cli.program import (
    ExitCode,
    Options,
    argument,
    make_console,
    option,
    print_json,
    print_text,
    progress,
)
from harness.core.secret_prefixes import redact
from harness.core.text import pluralize, shorten
from harness.live.paced import Budget, LiveApi, Sender, UpstreamError
from harness.live.resend import CONTINUES_LOST_ANSWER, ResentExchange, plan_resending, resend

LONG_WAIT = 2.0
"""Waits of at least this many seconds are announced."""
KEY_BY_DIALECT: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "foundry": "AZURE_OPENAI_API_KEY",
}
"""The variable that holds the key for each dialect."""


@dataclass(frozen=True, kw_only=True)
class LiveOptions(Options):
    """The options of a command that sends requests to the live API."""

    upstream: str = option("https://api.openai.com/v1", "The live API's root.", envvar="OPENAI_BASE_URL", metavar="URL")
    key_env: str = option("", "The variable that contains the key, if not the default.", metavar="NAME")
    yes: bool = option(False, "Do not ask for confirmation; the cost is still shown.", "--yes", "-y")


@dataclass(frozen=True, kw_only=True)
class DriftOptions(LiveOptions):
    """The options of `responses-harness drift`."""

    paths: list[Path] | None = argument(None, "Recordings, or folders of them.", metavar="PATH")
    as_json: bool = option(False, "Print JSON.", "--json")


def make_sender(options: LiveOptions) -> Sender:
    """Create the client of the live API with the key from the environment; UpstreamError without a key."""
    live = parse_upstream(options.upstream)
    name = options.key_env or KEY_BY_DIALECT[live.dialect]
    if not (key := os.environ.get(name, "").strip()):
        raise UpstreamError(f"no key for {live.origin}: set {name}, or name another variable with --key-env.")
    return Sender(LiveApi(live, key), sleep=_wait_with_notice)


def _wait_with_notice(seconds: float) -> None:
    """Sleep, after announcing a long wait."""
    if seconds >= LONG_WAIT:
        print_text(f"waiting {seconds:.0f} s: the API accepts no more requests for now", err=True)
    time.sleep(seconds)


def print_left_out(fresh: int, left_out: Mapping[str, int]) -> None:
    """Print on stderr how many requests are not sent, and why."""
    if fresh:
        print_text(f"{fresh} asked recently, so not asked again", err=True)
    for why, times in sorted(left_out.items()):
        print_text(f"{times} left out: {why}", err=True)


def confirm_cost(cost: Budget, sender: Sender, yes: bool) -> None:
    """Show the cost and ask for confirmation; UpstreamError without a terminal and without --yes."""
    print_text(f"{sender.live.upstream.origin}: {cost}", err=True)
    if yes:
        return
    try:
        agreed = typer.confirm("Continue?", err=True)
    except typer.Abort:
        raise UpstreamError("nothing was sent: there is no terminal to confirm this cost. Pass --yes.") from None
    if not agreed:
        raise UpstreamError("nothing was sent.")


def with_progress(several: Sequence[Any], what: str) -> Iterator[Any]:
    """Iterate with a progress bar."""
    with progress(what) as advance:
        for done, element in enumerate(several):
            advance(done, len(several))
            yield element


DRIFT_MEANINGS = {
    "live": "the mock answers like the API now: record again",
    "recording": "the mock answers as recorded: it is outdated",
    "both": "the mock gives both answers: stored objects of the recording no longer exist",
    "neither": "the mock gives neither answer",
}


def drift(options: DriftOptions) -> None:
    """Send recorded requests to the live API again, and compare the answers.

    Compares the old answer, the new one and the mock's, except for ids, times, texts and usage.
    """
    sender = make_sender(options)
    planned = plan_resending(options.paths or [Path("cassettes")], sender.live.upstream.dialect)
    if not planned.conversations:
        why = "; ".join(f"{times} left out: {why}" for why, times in planned.left_out.items())
        raise NotARecording(f"no recorded request can be sent again. {why or 'Pass the paths of recordings.'}")
    print_left_out(0, planned.left_out)
    confirm_cost(planned.cost, sender, options.yes)
    resent: list[ResentExchange] = []
    try:
        for conversation in with_progress(planned.conversations, "sending"):
            resent.extend(resend(conversation, sender))
    finally:  # prints what was found even after a failure
        if options.as_json:
            exchanges = [
                {**exchange._asdict(), "found": [difference._asdict() for difference in exchange.found]}
                for exchange in resent
            ]
            print_json({"exchanges": exchanges, "left_out": planned.left_out})
        elif resent:
            _print_drift(resent)
    if all(exchange.why for exchange in resent):
        raise NotARecording("nothing was compared: no exchange that was sent again has two answers to compare.")
    raise typer.Exit(ExitCode.FOUND if any(exchange.found for exchange in resent) else ExitCode.OK)


def _print_drift(found: Sequence[ResentExchange]) -> None:
    console = make_console()
    same = sum(not exchange.why and not exchange.found for exchange in found)
    why_not = Counter(exchange.why for exchange in found if exchange.why)
    sent = pluralize(len(found) - why_not[CONTINUES_LOST_ANSWER], "exchange")
    console.print(f"{sent} sent again: {same} as recorded, {sum(bool(exchange.found) for exchange in found)} not")
    for why, times in why_not.items():
        console.print(f"{times} not {'sent' if why == CONTINUES_LOST_ANSWER else 'compared'}: {redact(why)}")
    places: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for exchange in found:
        for difference in exchange.found:
            places.setdefault((difference.at, difference.recorded, difference.live), []).append(
                (exchange.id, difference.mock)
            )
    for (place, recorded, live), several in places.items():
        more = f" and {len(several) - 1} more" if several[1:] else ""
        console.print(redact(f"{several[0][0]}{more}  {place}"))
        console.print(redact(f"  recorded  {shorten(recorded, 300)}\n  live      {shorten(live, 300)}"))
        for meaning in dict.fromkeys(DRIFT_MEANINGS[mock] for _, mock in several if mock):
            console.print(f"  {meaning}")
