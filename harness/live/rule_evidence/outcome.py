"""What the live API's answers to a probe say of its rule: confirmed, contradicted, new words, or nothing for certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

from harness.cassettes.format.interaction import CLIENT, Interaction
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.core.exchange import Answer, Json
from harness.core.redact import redact
from harness.core.shorten import shorten
from harness.live.rule_evidence.probes import Probe, select_headers, wrong_key
from harness.verify.evidence import SourcedInteraction
from harness.verify.examples import build_request
from harness.verify.judging.judge import Verdict, answer_object, judge
from harness.verify.judging.unverifiable import ACCOUNT_STATUSES, match_rules
from harness.verify.judging.websocket_exchanges import to_http_interactions
from harness.verify.judging.websocket_pairs import SocketExchange
from harness.world.world import World

ProbeFinding = Literal["confirmed", "contradicted", "new words", "unclear"]
PROBE_FINDINGS: tuple[ProbeFinding, ...] = ("confirmed", "contradicted", "new words", "unclear")
ALREADY_COMPLETED = "response_already_completed"
"""The code with which steering is refused that came too late."""


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """What the live API has said to a probe.

    `date` is the day, `fresh` whether it was asked in this run, `expected` and `said` the two errors where they differ,
    `why` what makes it unclear, or in what it contradicts.
    """

    probe: Probe
    finding: ProbeFinding
    date: str = ""
    fresh: bool = True
    why: str = ""
    expected: Json | None = None
    said: Json | None = None


OutcomeFactory = Callable[..., ProbeOutcome]


def judge_probe(probe: Probe, told: Sequence[SourcedInteraction], fresh: bool = True) -> ProbeOutcome:
    """What these exchanges, the steps of the probe as far as they went, say of its rule."""
    last, answers = told[-1], [answer for one in told for answer in answers_of(one)]
    about = partial(ProbeOutcome, probe, date=last.origin.date, fresh=fresh)
    if why := _explain_unfinished(probe, last, answers):
        return about("unclear", why=why)
    verdicts = {each.at: each for each in _judge_last(told)}
    if probe.expected_message is None:
        return about("confirmed") if last.status < 400 else _judge_unexpected_refusal(about, verdicts, last)
    expected, error = probe.expected_error(answers[:-1]), _error_with_status(last)
    if last.status < 400:
        return _judge_missing_refusal(about, verdicts, last, expected)
    differing = about if expected == error else partial(about, expected=expected, said=error)
    return about("confirmed") if expected == error else _judge_other_refusal(differing, verdicts, probe, last)


def _explain_unfinished(probe: Probe, last: SourcedInteraction, answers: Sequence[Answer]) -> str:
    """Why nothing was said to the example itself; empty when something was."""
    if probe.socket_step_count and not last.interaction.frames:
        return f"no WebSocket could be opened: {_summarize_error(last)}"
    if len(answers) < len(probe.steps):
        return f"what it needs could not be made: {_summarize_error(last)}"
    if last.interaction.cut or last.status >= 500 or not last.status:
        return _summarize_error(last)
    late = (
        last.is_refusal
        and _error_with_status(last).get("code") == ALREADY_COMPLETED
        and probe.rule.error.code != ALREADY_COMPLETED
    )
    return "the response had ended before it could be steered" if late else ""


def _judge_unexpected_refusal(
    about: OutcomeFactory, verdicts: Mapping[str, Verdict], last: SourcedInteraction
) -> ProbeOutcome:
    why = _unverifiable_reason(verdicts) or (
        "" if "refusals.same" not in verdicts else f"the mock refuses it too: {_summarize_error(last)}"
    )
    said = _error_with_status(last)
    return about("unclear", why=why, said=said) if why else about("contradicted", why="it is refused", said=said)


def _judge_missing_refusal(
    about: OutcomeFactory, verdicts: Mapping[str, Verdict], last: SourcedInteraction, expected: Json
) -> ProbeOutcome:
    if "requests.refused" in verdicts or (last.interaction.frames and not _unverifiable_reason(verdicts)):
        return about("contradicted", why="it is taken", expected=expected)
    return about(
        "unclear", why=_unverifiable_reason(verdicts) or "what was stored before is not what it was", expected=expected
    )


def _judge_other_refusal(
    about: OutcomeFactory, verdicts: Mapping[str, Verdict], probe: Probe, last: SourcedInteraction
) -> ProbeOutcome:
    known = [rule.id for rule in match_rules(last.status, _error_with_status(last))]
    if known and probe.rule.id not in known:
        why = _unverifiable_reason(verdicts)
        return about("unclear", why=why) if why else about("contradicted", why=f"it is refused by {known[0]}")
    in_account = last.status in ACCOUNT_STATUSES and last.status != probe.rule.error.status
    return (
        about("unclear", why=_unverifiable_reason(verdicts) or _summarize_error(last))
        if in_account
        else about("new words")
    )


def _unverifiable_reason(verdicts: Mapping[str, Verdict]) -> str:
    """What the mock, which knows the answers before, cannot tell of the last one."""
    entries = [verdicts[at].entry for at in verdicts if at.endswith(".unverifiable")]
    return next((str(entry["why"]) for entry in entries if entry), "")


def _judge_last(told: Sequence[SourcedInteraction]) -> list[Verdict]:
    """What the mock says to the last of these exchanges, having seen those before; nothing of what no request says."""
    if (parts := told[-1].socket_exchanges) and not parts[-1].is_request:
        return []
    world, verdicts = World("probe"), list[Verdict]()
    for one in (each for interaction in told for each in as_recorded(interaction)):
        verdicts = list(judge(one, world))
    return verdicts


def _error_with_status(told: SourcedInteraction) -> Json:
    """The members of an error that was answered, and its status."""
    body = told.answer if isinstance(told.answer, dict) else {}
    error = body.get("error", body) or {"message": told.interaction.reason}
    return {"status": told.status, **(error if isinstance(error, dict) else {"message": error})}


def _summarize_error(told: SourcedInteraction) -> str:
    return str(redact(shorten(f"{told.status} {_error_with_status(told).get('message', '')}".strip())))


def as_recorded(told: SourcedInteraction) -> list[Recorded]:
    """An exchange as the judge reads recordings; of a WebSocket each of its responses."""
    found = enumerate(to_http_interactions(told.interaction), 1)
    return [parse_recorded(replace(entry, date=told.origin.date), "probe", number) for number, entry in found]


def answers_of(told: SourcedInteraction) -> list[Answer]:
    """The answer of an exchange, of a stream the object it told; of a WebSocket one for each event of the client."""
    if told.interaction.frames:
        return [part.answer for part in told.socket_exchanges]
    return [Answer(told.status, answer_object(one)) for one in as_recorded(told)]


def find_runs(probe: Probe, told: Sequence[SourcedInteraction]) -> list[tuple[int, ...]]:
    """The places of each recording of this probe among these exchanges, the oldest first: its requests, its WebSocket."""
    requests = [place for place, one in enumerate(told) if not one.interaction.frames]
    sockets = (
        [(place,) for place, one in enumerate(told) if one.interaction.frames] if probe.socket_step_count else [()]
    )
    count = len(probe.steps) - probe.socket_step_count
    starts = range(len(requests) - count + 1) if count else range(1)
    places = [(*requests[start : start + count], *socket) for start in starts for socket in sockets]
    return [each for each in places if _is_recording_of(probe, [told[place] for place in each])]


def _is_recording_of(probe: Probe, told: Sequence[SourcedInteraction]) -> bool:
    """Whether these are the recorded steps of a probe, those over HTTP first."""
    before, said = list[Answer](), [(one, answer) for one in told for answer in answers_of(one)]
    parts = iter(told[-1].socket_exchanges)
    if len(said) != len(probe.steps):
        return False
    for step, (one, answer) in zip(probe.steps, said, strict=True):
        try:
            asked = build_request(step, before)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            return False  # the answers before are those of something else
        same = _is_same_event(asked, next(parts)) if one.interaction.frames else _is_same_request(asked, one)
        if one.origin.level != "recorded" or not same:
            return False
        before.append(answer)
    return True


def _is_same_request(asked: Interaction, told: SourcedInteraction) -> bool:
    """Whether this is what was sent, as it is when it is written down: the same target, body, headers and wrong key."""
    take, parts = told.interaction, urlsplit(told.interaction.uri)
    if (asked.method, select_headers(asked.headers), wrong_key(asked)) != (
        take.method,
        select_headers(take.headers),
        told.origin.key,
    ):
        return False
    (written,) = scrub_interactions([build_interaction(asked, f"{parts.scheme}://{parts.netloc}")])
    return (written.uri, written.body) == (take.uri, take.body)


def _is_same_event(asked: Interaction, told: SocketExchange) -> bool:
    (written,) = scrub_interactions([Interaction("GET", "", frames=((0.0, CLIENT, asked.body.decode()),))])
    return written.frames[0][2] == told.text


def build_interaction(asked: Interaction, host: str) -> Interaction:
    """What was sent as a recorder takes it down, to the path as the API has it and without keys."""
    return replace(asked, uri=f"{host}{asked.uri}", headers=select_headers(asked.headers))
