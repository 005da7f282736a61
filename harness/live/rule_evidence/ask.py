"""The steps of a probe asked of the live API, and what it said to each as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.cassettes.format.interaction import Interaction
from harness.contract.rule import Case
from harness.contract.rules.http.websocket import STEER_EVENT
from harness.core.exchange import Answer
from harness.live.client.paced import Sender
from harness.live.client.websocket import Dial
from harness.live.rule_evidence.outcome import answers_of, take_of
from harness.live.rule_evidence.probes import Probe, wrong_key
from harness.verify.evidence import Origin, SourcedInteraction, attach_origin
from harness.verify.examples import CaseRequest, build_request
from harness.verify.judging.websocket_pairs import SocketExchange

HOSTS: Mapping[str, str] = {
    "openai": "https://api.openai.com",
    "azure": "https://xxxxxxx.openai.azure.com",
    "foundry": "https://xxxxxxx.services.ai.azure.com",
}
"""Where a request is said to have gone; the name of a resource in Azure would tell the account."""


def ask(probe: Probe, sender: Sender) -> list[SourcedInteraction]:
    """Send the steps of a probe, as far as each is taken, its events over one WebSocket that comes last.

    The exchanges are as the API has them, without any key.
    """
    told, before = list[SourcedInteraction](), list[Answer]()
    for step in probe.steps[: len(probe.steps) - probe.calls]:
        told.append(_sent(build_request(step, before), sender))
        if not 0 < told[-1].status < 400:
            return told
        before += answers_of(told[-1])
    return [*told, _said(probe, before, sender)] if probe.calls else told


def _sent(asked: CaseRequest, sender: Sender) -> SourcedInteraction:
    wrong = wrong_key(asked)
    body = asked.body if asked.method in ("POST", "PUT") else None
    reply = sender.send(asked.method, asked.path, asked.headers, body, good=wrong is None)
    kind = {name: said for name, said in reply.recorded.answer_headers.items() if name == "content-type"}
    chunks = ((0.0, reply.raw),) if reply.raw else ()
    take = take_of(asked, HOSTS[sender.live.behind.dialect])
    whole = replace(
        take, status=reply.status, answer_headers=kind, chunks=chunks, cut=bool(reply.fault), reason=reply.fault
    )
    return attach_origin(whole, Origin("recorded", sender.live.named, sender.day, key=wrong))


def _said(probe: Probe, before: list[Answer], sender: Sender) -> SourcedInteraction:
    """The events of a probe asked over a connection, as far as each is taken."""
    first = build_request(probe.steps[-probe.calls], before)
    line, opened = sender.dial(first.path)
    try:
        if line.is_open:
            _talk(probe, before, sender, line)
    finally:
        line.hang_up()
    host = HOSTS[sender.live.behind.dialect].replace("https", "wss", 1)
    chunks = ((0.0, opened.raw),) if opened.raw else ()
    fault = line.fault or opened.fault
    take = Interaction(
        "GET",
        f"{host}{first.path}",
        status=opened.status,
        chunks=() if line.frames else chunks,
        cut=bool(fault),
        frames=tuple(line.frames),
        reason=fault,
    )
    return attach_origin(take, Origin("recorded", sender.live.named, sender.day))


def _talk(probe: Probe, before: list[Answer], sender: Sender, line: Dial) -> None:
    for number, step in enumerate(probe.steps[len(before) :], len(before)):
        is_enough = _is_begun if steered_later(probe.steps, number) else _is_settled
        part = sender.say(line, build_request(step, before).body.decode(), is_enough)
        if line.fault or part.answer.status >= 400:
            return
        before.append(part.answer)


def _is_begun(part: SocketExchange) -> bool:
    return part.is_begun


def _is_settled(part: SocketExchange) -> bool:
    return part.is_settled


def steered_later(steps: Sequence[Case], number: int) -> bool:
    """Whether a step begins a response that is steered while it runs: nothing follows it in its lane before."""
    bodies = [step.body or {} for step in steps]
    lane = bodies[number].get("stream_id")
    for body in bodies[number + 1 :]:
        if body.get("type") == STEER_EVENT:
            if body.get("previous_response_id") == f"{{{number}.id}}":
                return True
        elif body.get("stream_id") == lane:
            return False
    return False
