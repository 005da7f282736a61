"""What the live API's answers to a probe say of its rule: confirmed, contradicted, new words, or nothing for certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

import orjson

from harness.brief import cut
from harness.cases import Sent, sent
from harness.dialect import address
from harness.doubt import IN_ACCOUNT, speakers
from harness.evidence import Interaction, Origin
from harness.exchange import Answer, Json
from harness.judge import Verdict, judge, said
from harness.probes import Probe, body_in, kept, wrong_key
from harness.recorded import Recorded
from harness.scrub import hide
from harness.scrubbing import scrubbed
from harness.take import Take
from harness.world import World

Finding = Literal["confirmed", "contradicted", "new words", "unclear"]
FINDINGS: tuple[Finding, ...] = ("confirmed", "contradicted", "new words", "unclear")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the live API has said to a probe.

    `date` is the day, `fresh` whether it was asked in this run, `expected` and `said` the two errors where they differ,
    `why` what makes it unclear, or in what it contradicts.
    """

    probe: Probe
    finding: Finding
    date: str = ""
    fresh: bool = True
    why: str = ""
    expected: Json | None = None
    said: Json | None = None


About = Callable[..., Outcome]


def judged(probe: Probe, told: Sequence[Interaction], fresh: bool = True) -> Outcome:
    """What these exchanges, the steps of the probe as far as they went, say of its rule."""
    last, before = told[-1], [answer_of(one) for one in told[:-1]]
    about = partial(Outcome, probe, date=last.origin.date, fresh=fresh)
    if len(told) < len(probe.steps):
        return about("unclear", why=f"what it needs could not be made: {_brief(last)}")
    if last.status >= 500 or not last.status:
        return about("unclear", why=_brief(last))
    verdicts = {each.at: each for each in _verdicts(told)}
    if probe.words is None:
        return about("confirmed") if last.status < 400 else _refused_though_taken(about, verdicts, last)
    expected, error = probe.expected(before), _error(last)
    if last.status < 400:
        return _taken_though_refused(about, verdicts, expected)
    differing = about if expected == error else partial(about, expected=expected, said=error)
    return about("confirmed") if expected == error else _refused_otherwise(differing, verdicts, probe, last)


def _refused_though_taken(about: About, verdicts: Mapping[str, Verdict], last: Interaction) -> Outcome:
    why = _doubt(verdicts) or ("" if "refusals.same" not in verdicts else f"the mock refuses it too: {_brief(last)}")
    said = _error(last)
    return about("unclear", why=why, said=said) if why else about("contradicted", why="it is refused", said=said)


def _taken_though_refused(about: About, verdicts: Mapping[str, Verdict], expected: Json) -> Outcome:
    if "requests.refused" in verdicts:
        return about("contradicted", why="it is taken", expected=expected)
    return about("unclear", why=_doubt(verdicts) or "what was stored before is not what it was", expected=expected)


def _refused_otherwise(about: About, verdicts: Mapping[str, Verdict], probe: Probe, last: Interaction) -> Outcome:
    known = [rule.id for rule in speakers(last.status, _error(last))]
    if known and probe.rule.id not in known:
        why = _doubt(verdicts)
        return about("unclear", why=why) if why else about("contradicted", why=f"it is refused by {known[0]}")
    in_account = last.status in IN_ACCOUNT and last.status != probe.rule.error.status
    return about("unclear", why=_doubt(verdicts) or _brief(last)) if in_account else about("new words")


def _doubt(verdicts: Mapping[str, Verdict]) -> str:
    """What the mock, which knows the answers before, cannot tell of the last one."""
    entries = [verdicts[at].entry for at in verdicts if at.endswith(".unverifiable")]
    return next((str(entry["why"]) for entry in entries if entry), "")


def _verdicts(told: Sequence[Interaction]) -> list[Verdict]:
    """What the mock says to the last of these exchanges, having seen those before."""
    world, verdicts = World("probe"), list[Verdict]()
    for one in told:
        verdicts = list(judge(as_recorded(one), world))
    return verdicts


def _error(told: Interaction) -> Json:
    """The members of an error that was answered, and its status."""
    body = told.answer if isinstance(told.answer, dict) else {}
    error = body.get("error", body)
    return {"status": told.status, **(error if isinstance(error, dict) else {"message": error})}


def _brief(told: Interaction) -> str:
    return str(hide(cut(f"{told.status} {_error(told).get('message', '')}".strip())))


def as_recorded(told: Interaction, id: str = "probe#1") -> Recorded:
    """An exchange as the judge reads recordings."""
    body, answer, text = told.body, told.answer, isinstance(told.body, str)
    streamed = isinstance(answer, list)
    return Recorded(
        id=id,
        file=id.partition("#")[0],
        method=told.method,
        host="",
        path=told.path,
        query=told.query,
        headers=told.headers,
        request=None if text else body,
        raw=_raw(body) if text else None,
        status=told.status,
        answer_headers={},
        answer=None if streamed else answer,
        events=answer if streamed else None,
        provider=address(told.path).dialect,
        date=told.origin.date,
        flags=frozenset(),
    )


def answer_of(told: Interaction) -> Answer:
    """The answer of an exchange; of a stream the object it told."""
    return Answer(told.status, said(as_recorded(told)))


def runs(probe: Probe, told: Sequence[Interaction]) -> list[int]:
    """Where among these exchanges the recorded steps of this probe begin, the oldest first."""
    length = len(probe.steps)
    return [start for start in range(len(told) - length + 1) if _is(probe, told[start : start + length])]


def _is(probe: Probe, told: Sequence[Interaction]) -> bool:
    before: list[Answer] = []
    for step, one in zip(probe.steps, told, strict=True):
        try:
            asked = sent(step, before)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            return False  # the answers before are those of something else
        if one.origin.level != "recorded" or not _same(asked, one):
            return False
        before.append(answer_of(one))
    return True


def _same(asked: Sent, told: Interaction) -> bool:
    """Whether this is what was sent, as it is when it is written down: the same target, body, headers and wrong key."""
    if (asked.method, kept(asked.headers), wrong_key(asked)) != (told.method, kept(told.headers), told.origin.key):
        return False
    return _written(as_told(asked, told.origin)) == _of(take_of(told))


def _written(told: Interaction) -> tuple[str, bytes]:
    (take,) = scrubbed([take_of(told)])
    return _of(take)


def _of(take: Take) -> tuple[str, bytes]:
    return take.uri, take.body


def as_told(asked: Sent, origin: Origin, status: int = 0, answer: Any = None) -> Interaction:
    """An exchange as evidence: without keys, the path as the API has it."""
    path, _, query = asked.path.partition("?")
    told = dict(parse_qsl(query, keep_blank_values=True))
    return Interaction(origin, asked.method, path, told, kept(asked.headers), body_in(asked.body), status, answer)


def take_of(told: Interaction, host: str = "https://api.openai.com") -> Take:
    """An exchange as a recorder takes it down."""
    query = f"?{urlencode(told.query)}" if told.query else ""
    said = ((0.0, orjson.dumps(told.answer)),)
    kind = {"content-type": "application/json"}
    return Take(told.method, f"{host}{told.path}{query}", told.headers, _raw(told.body), told.status, kind, said)


def _raw(body: Any) -> bytes:
    if isinstance(body, str):
        return body.encode("utf-8", "surrogateescape")
    return b"" if body is None else orjson.dumps(body)
