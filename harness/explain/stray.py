"""Explains requests without a World: their key belongs to no test, or to a test that has ended."""

from collections.abc import Iterable, Sequence

from harness.contract.rules.http.access import mask_key
from harness.core.exchange import Stray
from harness.core.text import pluralize
from harness.core.vocabulary import PYTHON
from harness.explain.model import Cause, ReportFinding
from harness.explain.turn import list_unused
from harness.world.refusals import StrayLog
from harness.world.world import World


def stray_cause(world: World) -> Cause:
    """Explain requests with another key, or without one, that came while this World waited for requests."""
    words = world.vocabulary
    _, last = world.strays[-1]
    shown = mask_key(last.key)
    what = f"with another key, {shown}," if last.key else "without a key"
    where = "\n".join(
        f"{stray.request.method} {stray.request.path}, "
        f"{f'after request {before}' if before else 'before any request of this test'}"
        for before, stray in world.strays
        if stray.key == last.key
    )
    fix = f"The client must send this test's key: OPENAI_API_KEY{words.too_early}, or {words.api_key}."
    if last.key and words.mark:
        let_in = words.mark.format(f'key="{shown if shown == last.key else "…"}"')
        fix = f"To accept a program with its own key: {let_in}. Otherwise pass {words.api_key} to its client."
    if last.owner:
        fix = (
            f"The client was created in {last.owner}, which has ended. Create one in each test, or set "
            "`harness_env = session`: its key leads to the running test."
        )
    head = f"A request {what} was refused ({last.answer.status})."
    return Cause(head, kind="stray", where=where, unused=list_unused(world), fix=fix)


def late_cause(strays: Sequence[Stray], during: Sequence[str], asked: Iterable[str], made: Iterable[str]) -> Cause:
    """Explain requests with the key of an ended test, or with any key while no test had a World, and how to wait.

    `during` are the tests that ran meanwhile, empty strings for none; `asked` and `made` the lines of code that sent
    the requests and created the clients.
    """
    first, owner = strays[0], strays[0].owner
    test = owner.rpartition("::")[2]
    whose = f"with the key {mask_key(first.key)}" if first.key else "without a key"
    what = (
        f"with the key of {owner} came after that test had ended"
        if owner
        else f"{whose} came while no test used `mock`"
    )
    when = [f"while {name} ran" if name else "after the last test that used `mock`" if owner else "" for name in during]
    where = [
        f"{stray.request.method} {stray.request.path}{f', {place}' if place else ''}"
        for stray, place in zip(strays, when, strict=True)
    ]
    fix = (
        f"In {test}, or in a fixture that requests `mock`, wait for everything it started: thread.join(), "
        "executor.shutdown(), process.wait(), the end of a task. A client belongs to one test."
        if owner
        else "Send requests only while a test uses `mock`: in the test, or in a fixture that requests it."
    )
    rule = first.answer.rule
    marked, listed = PYTHON.mark.format(f'refusals=["{rule}"]'), f"harness_refusals = {rule or 'allow'}"
    return Cause(
        f"A request {what} and was refused ({first.answer.status}).",
        kind="stray",
        where="\n".join(where),
        asked="\n".join(asked),
        made="\n".join(made) or (f"while {test} ran, on an unknown line" if owner else ""),
        fix=fix,
        allow=marked if owner and rule else f"{listed} in pytest's configuration",
    )


def unknown_key_cause(strays: StrayLog) -> Cause | None:
    """Explain the requests of a whole run whose keys lead to no World; None without any."""
    if not strays.kept:
        return None
    _, (request, answer, *_) = strays.kept[-1]
    error = answer.body.get("error", answer.body) if isinstance(answer.body, dict) else {}
    return Cause(
        f"{pluralize(strays.number, 'request')} came with an unknown key, the last one "
        f"{request.method} {request.path}: {answer.status} {error.get('message', '')}",
        kind="stray",
    )


def stray_finding(cause: Cause, stray: Stray) -> ReportFinding:
    """Build the finding for requests without a World; the answer to one of them names the rule."""
    why = "\n".join(f"{label} {text}" for label, text in cause.rows if label in ("where", "asked", "made"))
    fix = f"{cause.fix} Or allow it: {cause.allow}" if cause.allow else cause.fix
    return ReportFinding("refusal", False, cause.what, stray.answer.rule or "", why=why, fix=fix)
