"""Judges what the live API's answers to a probe show about its rule: confirmed, contradicted, new words, or unclear."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

from harness.cassettes.format.interaction import CLIENT, Interaction
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.core.exchange import Answer, Json
from harness.core.secret_prefixes import redact
from harness.core.text import shorten
from harness.live.http import select_headers
from harness.verify.examples import build_request
from harness.verify.judging.judge import answer_object, judge
from harness.verify.judging.unverifiable import ACCOUNT_STATUSES, match_rules
from harness.verify.judging.verdict import UNVERIFIABLE, Verdict, VerdictKind
from harness.verify.judging.websockets import SocketExchange, to_http_interactions
from harness.world.world import World
from tools.rule_evidence.cassettes import SourcedInteraction
from tools.rule_evidence.probes import Probe, wrong_key

ProbeFinding = Literal["confirmed", "contradicted", "new words", "unclear"]
PROBE_FINDINGS: tuple[ProbeFinding, ...] = ("confirmed", "contradicted", "new words", "unclear")
ALREADY_COMPLETED = "response_already_completed"
"""The code of the error for steering that came too late."""


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """What the answers to a probe show about its rule.

    `date` is the day of the answers, `fresh` whether the probe was sent in this run. `expected` and `received` are the
    two errors if they differ, `why` explains what is unclear or what contradicts the rule.
    """

    probe: Probe
    finding: ProbeFinding
    date: str = ""
    fresh: bool = True
    why: str = ""
    expected: Json | None = None
    received: Json | None = None


OutcomeFactory = Callable[..., ProbeOutcome]


def judge_probe(probe: Probe, run: Sequence[SourcedInteraction], fresh: bool = True) -> ProbeOutcome:
    """Judge a run of a probe: the exchanges of its steps, up to the first refusal."""
    last, answers = run[-1], [answer for interaction in run for answer in answers_of(interaction)]
    outcome = partial(ProbeOutcome, probe, date=last.origin.date, fresh=fresh)
    if why := _explain_unfinished(probe, last, answers):
        return outcome("unclear", why=why)
    verdicts = {verdict.kind: verdict for verdict in _judge_last(run)}
    if probe.expected_message is None:
        return outcome("confirmed") if last.status < 400 else _judge_unexpected_refusal(outcome, verdicts, last)
    expected, received = probe.expected_error(answers[:-1]), _error_with_status(last)
    if last.status < 400:
        return _judge_missing_refusal(outcome, verdicts, last, expected)
    if expected == received:
        return outcome("confirmed")
    return _judge_other_refusal(partial(outcome, expected=expected, received=received), verdicts, probe, last)


def _explain_unfinished(probe: Probe, last: SourcedInteraction, answers: Sequence[Answer]) -> str:
    """Explain why the example itself has no answer; empty if it has one."""
    if probe.socket_step_count and not last.interaction.frames:
        return f"no WebSocket could be opened: {_summarize_error(last)}"
    if len(answers) < len(probe.steps):
        return f"what it needs could not be made: {_summarize_error(last)}"
    if last.interaction.cut or last.status >= 500 or not last.status:
        return _summarize_error(last)
    is_late = last.is_refusal and _error_with_status(last).get("code") == ALREADY_COMPLETED
    if is_late and probe.rule.error.code != ALREADY_COMPLETED:
        return "the response had ended before it could be steered"
    return ""


def _judge_unexpected_refusal(
    outcome: OutcomeFactory, verdicts: Mapping[VerdictKind, Verdict], last: SourcedInteraction
) -> ProbeOutcome:
    why, received = _unverifiable_reason(verdicts), _error_with_status(last)
    if not why and VerdictKind.REFUSAL_SAME in verdicts:
        why = f"the mock refuses it too: {_summarize_error(last)}"
    if why:
        return outcome("unclear", why=why, received=received)
    return outcome("contradicted", why="it is refused", received=received)


def _judge_missing_refusal(
    outcome: OutcomeFactory, verdicts: Mapping[VerdictKind, Verdict], last: SourcedInteraction, expected: Json
) -> ProbeOutcome:
    why = _unverifiable_reason(verdicts)
    if VerdictKind.REQUEST_REFUSED in verdicts or (last.interaction.frames and not why):
        return outcome("contradicted", why="it is taken", expected=expected)
    return outcome("unclear", why=why or "what was stored before is not what it was", expected=expected)


def _judge_other_refusal(
    outcome: OutcomeFactory, verdicts: Mapping[VerdictKind, Verdict], probe: Probe, last: SourcedInteraction
) -> ProbeOutcome:
    why = _unverifiable_reason(verdicts)
    matching = [rule.id for rule in match_rules(last.status, _error_with_status(last))]
    if matching and probe.rule.id not in matching:
        return outcome("unclear", why=why) if why else outcome("contradicted", why=f"it is refused by {matching[0]}")
    if last.status in ACCOUNT_STATUSES and last.status != probe.rule.error.status:
        return outcome("unclear", why=why or _summarize_error(last))
    return outcome("new words")


def _unverifiable_reason(verdicts: Mapping[VerdictKind, Verdict]) -> str:
    """Explain why the mock, which remembers the earlier answers, cannot judge the last one; empty if it can."""
    entries = [verdict.entry for kind, verdict in verdicts.items() if kind in UNVERIFIABLE]
    return next((str(entry["why"]) for entry in entries if entry), "")


def _judge_last(run: Sequence[SourcedInteraction]) -> list[Verdict]:
    """Judge the exchanges of a run and return the verdicts on the last; an event that is no request has none."""
    if (events := run[-1].socket_exchanges) and not events[-1].is_request:
        return []
    world, verdicts = World("probe"), list[Verdict]()
    for recorded in (exchange for interaction in run for exchange in as_recorded(interaction)):
        verdicts = list(judge(recorded, world))
    return verdicts


def _error_with_status(sourced: SourcedInteraction) -> Json:
    """Return the members of the error in an answer, with its status."""
    body = sourced.answer if isinstance(sourced.answer, dict) else {}
    error = body.get("error", body) or {"message": sourced.interaction.reason}
    return {"status": sourced.status, **(error if isinstance(error, dict) else {"message": error})}


def _summarize_error(sourced: SourcedInteraction) -> str:
    return str(redact(shorten(f"{sourced.status} {_error_with_status(sourced).get('message', '')}".strip())))


def as_recorded(sourced: SourcedInteraction) -> list[Recorded]:
    """Parse an exchange as the judge reads recordings: one for HTTP, one per response for a WebSocket."""
    interactions = enumerate(to_http_interactions(sourced.interaction), 1)
    return [
        parse_recorded(replace(interaction, date=sourced.origin.date), "probe", number)
        for number, interaction in interactions
    ]


def answers_of(sourced: SourcedInteraction) -> list[Answer]:
    """List the answers in an exchange: one for HTTP (the object of a stream), one per client event of a WebSocket."""
    if sourced.interaction.frames:
        return [exchange.answer for exchange in sourced.socket_exchanges]
    return [Answer(sourced.status, answer_object(recorded)) for recorded in as_recorded(sourced)]


def find_runs(probe: Probe, interactions: Sequence[SourcedInteraction]) -> list[tuple[int, ...]]:
    """Find the runs of a probe among exchanges, oldest first, each as the indexes of its exchanges."""
    requests = [index for index, exchange in enumerate(interactions) if not exchange.interaction.frames]
    sockets: list[tuple[int, ...]] = [()]
    if probe.socket_step_count:
        sockets = [(index,) for index, exchange in enumerate(interactions) if exchange.interaction.frames]
    count = len(probe.steps) - probe.socket_step_count
    starts = range(len(requests) - count + 1) if count else range(1)
    candidates = [(*requests[start : start + count], *socket) for start in starts for socket in sockets]
    return [candidate for candidate in candidates if _is_run_of(probe, [interactions[index] for index in candidate])]


def _is_run_of(probe: Probe, run: Sequence[SourcedInteraction]) -> bool:
    """Return whether these are the recorded steps of a probe, HTTP steps first."""
    before, exchanges = list[Answer](), [(sourced, answer) for sourced in run for answer in answers_of(sourced)]
    events = iter(run[-1].socket_exchanges)
    if len(exchanges) != len(probe.steps):
        return False
    for step, (sourced, answer) in zip(probe.steps, exchanges, strict=True):
        try:
            request = build_request(step, before)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            return False  # the earlier answers lack what the step refers to
        if sourced.origin.level != "recorded":
            return False
        is_event = bool(sourced.interaction.frames)
        if not (_is_same_event(request, next(events)) if is_event else _is_same_request(request, sourced)):
            return False
        before.append(answer)
    return True


def _is_same_request(request: Interaction, sourced: SourcedInteraction) -> bool:
    """Return whether a request, once scrubbed, equals the recorded one in target, body, headers and wrong key."""
    interaction, url = sourced.interaction, urlsplit(sourced.interaction.uri)
    recorded = (interaction.method, select_headers(interaction.headers), sourced.origin.key)
    if (request.method, select_headers(request.headers), wrong_key(request)) != recorded:
        return False
    (scrubbed,) = scrub_interactions([build_interaction(request, f"{url.scheme}://{url.netloc}")])
    return (scrubbed.uri, scrubbed.body) == (interaction.uri, interaction.body)


def _is_same_event(request: Interaction, exchange: SocketExchange) -> bool:
    (scrubbed,) = scrub_interactions([Interaction("GET", "", frames=((0.0, CLIENT, request.body.decode()),))])
    return scrubbed.frames[0][2] == exchange.text


def build_interaction(request: Interaction, host: str) -> Interaction:
    """Build a request as stored in a cassette: with the public URL of the API, without keys."""
    return replace(request, uri=f"{host}{request.uri}", headers=select_headers(request.headers))
