"""Recorded requests sent again, each file as one conversation: what the API answers now, beside then and the mock.

An id that the recording got is replaced by the one that the API gives now. A request that goes on with something which
the model did not say this time cannot be sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import orjson

from harness import budget
from harness.dialect import OPENAI, ROOTS
from harness.doubt import BEGAN_BEFORE, BY_ACCOUNT, ENDED_UNSEEN, IN_ACCOUNT, OF_AGENT, OF_DEPLOYMENT
from harness.errors import HarnessError
from harness.exchange import Json
from harness.judge import judge, said, skipped
from harness.operation import find
from harness.origin import place, root_of
from harness.probes import kept
from harness.recorded import Recorded
from harness.sending import Sender
from harness.tape import NotATape, files, read
from harness.threeway import Difference, by_mock, differences, ids_in, names_of, renamed
from harness.world import World

GOES_ON = "it goes on with what the model did not say this time"
DOUBTS = (BY_ACCOUNT, BEGAN_BEFORE, ENDED_UNSEEN, OF_AGENT, OF_DEPLOYMENT)
"""Why an answer depends on more than the request."""
UNSENT = ("no_request", "cut", "sanitized")
"""Flags of recordings whose request is not known as it was sent."""


class Resent(NamedTuple):
    """One exchange asked again: `why` it was not, or what differs; nothing where all three agree."""

    id: str
    why: str = ""
    found: Sequence[Difference] = ()


class Plan(NamedTuple):
    """The conversations to have again, why some exchanges are left out, and what it costs at most."""

    talks: list[list[Recorded]]
    left_out: Counter[str]
    cost: budget.Budget


def plan(paths: Sequence[Path], dialect: str) -> Plan:
    """What of these recordings can be asked again of an API of this dialect; TapeError when a path does not exist."""
    talks: dict[str, list[Recorded]] = {}
    left_out = Counter[str]()
    for file in files(paths):
        try:
            for one in read(file):
                if why := _left_out(one, dialect):
                    left_out[why] += 1
                else:
                    talks.setdefault(one.file, []).append(one)
        except NotATape:
            continue
        except HarnessError as problem:
            left_out[f"unreadable: {problem}"] += 1
    asked = (one for talk in talks.values() for one in talk)
    return Plan(list(talks.values()), left_out, budget.total(map(sent_again, asked)))


def sent_again(one: Recorded) -> budget.Budget:
    """What it costs to send a recorded request again."""
    return budget.of_request(one.method, one.path, _body(one) or b"", one.status < 400)


def _left_out(one: Recorded, dialect: str) -> str:
    """Why an exchange cannot be asked again; empty when it can."""
    below = place(one.path) if one.provider else None
    operation = find(one.method, below)[0] if below else None
    if operation is None or below is None:
        return skipped(one)
    if one.provider != dialect:
        return f"it is {one.provider}'s"
    if one.status in IN_ACCOUNT or one.status >= 500:
        return f"what was answered was about the account or the hour: {one.status}"
    lost = not one.flags.isdisjoint(UNSENT) or (operation.form and not one.raw)
    return "its request is not in the recording as it was sent" if lost else ""


def resent(talk: Iterable[Recorded], sender: Sender) -> Iterator[Resent]:
    """Each exchange of one conversation, asked again in order; UpstreamError when it is no use to go on."""
    names, given = dict[str, str](), set[str]()
    then, now = World("then"), World("now")
    for one in talk:
        asked, verdicts, answer = _renamed(one, names), _judged(one, then), said(one)
        lost = _holds(asked, given - names.keys())
        given |= ids_in(answer)
        if lost:
            yield Resent(one.id, GOES_ON)
            continue
        reply = sender.send(asked.method, _target(asked), kept(asked.headers), _body(asked))
        live = _answered(asked, reply.recorded, sender)
        names.update(names_of(answer, said(live)))
        if reply.fault or live.status >= 500 or (live.status in IN_ACCOUNT and live.status != one.status):
            yield Resent(
                one.id, reply.fault or f"it was answered {live.status}, which is about the account or the hour"
            )
        else:
            yield _compared(one._replace(answer=renamed(one.answer, names)), live, verdicts, now)


def _compared(one: Recorded, live: Recorded, then: Mapping[str, Json | None], world: World) -> Resent:
    mock = by_mock(live, world) if live.status < 300 else None
    now = _judged(live, world)
    if "transcribed" in one.flags and one.status < 300:
        return Resent(one.id)  # it was never answered so
    found = differences(one, live, (frozenset(then), frozenset(now)), mock)
    why = _doubt(then) or _doubt(now) if found else ""
    return Resent(one.id, why, [] if why else found)


def _doubt(verdicts: Mapping[str, Json | None]) -> str:
    """What makes it nobody's fault that an answer is another one."""
    told = [verdicts[at] for at in verdicts if at.endswith(".unverifiable")]
    return next((entry["why"] for entry in told if entry and entry["why"] in DOUBTS), "")


def _judged(one: Recorded, world: World) -> dict[str, Json | None]:
    return {verdict.at: verdict.entry for verdict in judge(one, world)}


def _renamed(one: Recorded, names: dict[str, str]) -> Recorded:
    return one._replace(
        path=renamed(one.path, names), query=renamed(dict(one.query), names), request=renamed(one.request, names)
    )


def _holds(asked: Recorded, lost: set[str]) -> bool:
    """Whether a request repeats an id that was given out then and not now."""
    sent = orjson.dumps([asked.path, asked.query, asked.request]).decode() if lost else ""
    return any(f'"{id}"' in sent or f"/{id}" in sent for id in lost)


def _target(asked: Recorded) -> str:
    root = root_of(asked.path) or ""
    path = f"{ROOTS[OPENAI]}{asked.path[len(root) :]}" if asked.provider == OPENAI else asked.path
    return f"{path}?{urlencode(asked.query, doseq=True)}" if asked.query else path


def _body(asked: Recorded) -> bytes | None:
    if asked.raw is not None:
        return asked.raw
    return None if asked.request is None else orjson.dumps(asked.request)


def _answered(asked: Recorded, live: Recorded, sender: Sender) -> Recorded:
    return asked._replace(
        status=live.status,
        answer=live.answer,
        events=live.events,
        answer_headers=live.answer_headers,
        date=sender.day,
        flags=live.flags,
    )
