"""Shared parts of the commands that send requests to a live API: options, the key, the cost, progress."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli.support.app import print_text, progress
from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.live.client.budget import Budget
    from harness.live.client.paced import Sender

LONG_WAIT = 2.0
"""Waits of at least this many seconds are announced."""
KEY_BY_DIALECT: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "foundry": "AZURE_OPENAI_API_KEY",
}
"""The variable that holds the key for each dialect."""

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation; the cost is still shown.")]
KeyEnvOption = Annotated[
    str, typer.Option(metavar="NAME", help="The variable that contains the key, if not the default.")
]
UpstreamOption = Annotated[str, typer.Option(envvar="OPENAI_BASE_URL", metavar="URL", help="The live API's root.")]


def make_sender(upstream: str, key_env: str) -> Sender:
    """Create the client of the live API with the key from the environment; ConfigError without a key."""
    import harness.foundry  # noqa: F401  (registers every rule)
    from harness.api.http.dialects import parse_upstream
    from harness.live.client.paced import LiveApi, Sender

    live = parse_upstream(upstream)
    name = key_env or KEY_BY_DIALECT[live.dialect]
    if not (key := os.environ.get(name, "").strip()):
        raise ConfigError(f"no key for {live.origin}: set {name}, or name another variable with --key-env.")
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
    """Show the cost and ask for confirmation; ConfigError without a terminal and without --yes."""
    print_text(f"{sender.live.upstream.origin}: {cost}", err=True)
    if yes:
        return
    try:
        agreed = typer.confirm("Continue?", err=True)
    except typer.Abort:
        raise ConfigError("nothing was sent: there is no terminal to confirm this cost. Pass --yes.") from None
    if not agreed:
        raise ConfigError("nothing was sent.")


def with_progress(several: Sequence[Any], what: str) -> Iterator[Any]:
    """Iterate with a progress bar."""
    with progress(what) as advance:
        for done, element in enumerate(several):
            advance(done, len(several))
            yield element
