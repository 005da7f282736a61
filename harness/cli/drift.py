"""`responses-harness drift`: sends recorded requests to the live API again, and compares old, new and mock's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.support.app import ExitCode, make_console, print_json
from harness.cli.support.live_api import (
    KeyEnvOption,
    UpstreamOption,
    YesOption,
    confirm_cost,
    make_sender,
    print_left_out,
    with_progress,
)
from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.live.drift.resend import ResentExchange

DRIFT_MEANINGS = {
    "live": "the mock answers like the API now: record again",
    "recording": "the mock answers as recorded: it is outdated",
    "both": "the mock gives both answers: stored objects of the recording no longer exist",
    "neither": "the mock gives neither answer",
}


def drift(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="Recordings, or folders of them.")] = None,
    upstream: UpstreamOption = "https://api.openai.com/v1",
    key_env: KeyEnvOption = "",
    yes: YesOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Send recorded requests to the live API again, and compare the answers.

    Compares the old answer, the new one and the mock's, except for ids, times, texts and usage.
    """
    from harness.live.drift.plan import plan_resending
    from harness.live.drift.resend import resend

    sender = make_sender(upstream, key_env)
    planned = plan_resending(paths or [Path("cassettes")], sender.live.upstream.dialect)
    if not planned.conversations:
        why = "; ".join(f"{times} left out: {why}" for why, times in planned.left_out.items())
        raise ConfigError(f"no recorded request can be sent again. {why or 'Pass the paths of recordings.'}")
    print_left_out(0, planned.left_out)
    confirm_cost(planned.cost, sender, yes)
    resent: list[ResentExchange] = []
    try:
        for conversation in with_progress(planned.conversations, "sending"):
            resent.extend(resend(conversation, sender))
    finally:  # prints what was found even after a failure
        if as_json:
            exchanges = [
                {**exchange._asdict(), "found": [difference._asdict() for difference in exchange.found]}
                for exchange in resent
            ]
            print_json({"exchanges": exchanges, "left_out": planned.left_out})
        elif resent:
            _print_drift(resent)
    if all(exchange.why for exchange in resent):
        raise ConfigError("nothing was compared: no exchange that was sent again has two answers to compare.")
    raise typer.Exit(ExitCode.FOUND if any(exchange.found for exchange in resent) else ExitCode.OK)


def _print_drift(found: Sequence[ResentExchange]) -> None:
    from harness.core.secrets import redact
    from harness.core.text import pluralize, shorten
    from harness.live.drift.resend import CONTINUES_LOST_ANSWER

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
