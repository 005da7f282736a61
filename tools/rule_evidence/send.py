"""Sends the steps of a probe to the live API and returns the exchanges as evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.api.responses import STEER_EVENT
from harness.cassettes.format.interaction import Interaction
from harness.contract.rule import Case
from harness.core.exchange import Answer
from harness.live.paced import Sender
from harness.live.websocket import WebSocketClient
from harness.verify.examples import build_request
from harness.verify.judging.websockets import SocketExchange
from tools.rule_evidence.cassettes import Origin, SourcedInteraction, attach_origin
from tools.rule_evidence.outcome import answers_of, build_interaction
from tools.rule_evidence.probes import Probe, wrong_key

PUBLIC_HOSTS: Mapping[str, str] = {
    "openai": "https://api.openai.com",
    "azure": "https://xxxxxxx.openai.azure.com",
    "foundry": "https://xxxxxxx.services.ai.azure.com",
}
"""The hosts in the evidence; the name of an Azure resource would reveal the account."""


def send_probe(probe: Probe, sender: Sender) -> list[SourcedInteraction]:
    """Send the steps of a probe until one is refused; its events share one WebSocket, which is the last exchange.

    The returned exchanges have the public paths of the API and no key.
    """
    run, before = list[SourcedInteraction](), list[Answer]()
    for step in probe.steps[: len(probe.steps) - probe.socket_step_count]:
        run.append(_send_request(build_request(step, before), sender))
        if not 0 < run[-1].status < 400:
            return run
        before += answers_of(run[-1])
    return [*run, _run_socket_steps(probe, before, sender)] if probe.socket_step_count else run


def _send_request(request: Interaction, sender: Sender) -> SourcedInteraction:
    key = wrong_key(request)
    body = request.body if request.method in ("POST", "PUT") else None
    reply = sender.send(request.method, request.uri, request.headers, body, with_key=key is None).interaction
    content_type = {name: value for name, value in reply.answer_headers.items() if name == "content-type"}
    interaction = replace(
        build_interaction(request, PUBLIC_HOSTS[sender.live.upstream.dialect]),
        status=reply.status,
        answer_headers=content_type,
        chunks=reply.chunks,
        cut=bool(reply.reason),
        reason=reply.reason,
    )
    return attach_origin(interaction, Origin("recorded", sender.live.public_name, sender.day, key=key))


def _run_socket_steps(probe: Probe, before: list[Answer], sender: Sender) -> SourcedInteraction:
    """Send the events of a probe over one connection, as long as each is accepted."""
    first = build_request(probe.steps[-probe.socket_step_count], before)
    client, opened = sender.open_socket(first.uri)
    try:
        if client.is_open:
            _send_events(probe, before, sender, client)
    finally:
        client.close()
    host = PUBLIC_HOSTS[sender.live.upstream.dialect].replace("https", "wss", 1)
    fault = client.fault or opened.reason
    interaction = Interaction(
        "GET",
        f"{host}{first.uri}",
        status=opened.status,
        chunks=() if client.frames else opened.chunks,
        cut=bool(fault),
        frames=tuple(client.frames),
        reason=fault,
    )
    return attach_origin(interaction, Origin("recorded", sender.live.public_name, sender.day))


def _send_events(probe: Probe, before: list[Answer], sender: Sender, client: WebSocketClient) -> None:
    for number, step in enumerate(probe.steps[len(before) :], len(before)):
        is_enough = _is_begun if is_steered_later(probe.steps, number) else _is_settled
        exchange = sender.send_event(client, build_request(step, before).body.decode(), is_enough)
        if client.fault or exchange.answer.status >= 400:
            return
        before.append(exchange.answer)


def _is_begun(exchange: SocketExchange) -> bool:
    return exchange.is_begun


def _is_settled(exchange: SocketExchange) -> bool:
    return exchange.is_settled


def is_steered_later(steps: Sequence[Case], number: int) -> bool:
    """Return whether a later step steers the response of this one, before another event of the same `stream_id`."""
    bodies = [step.body or {} for step in steps]
    stream = bodies[number].get("stream_id")
    for body in bodies[number + 1 :]:
        if body.get("type") == STEER_EVENT:
            if body.get("previous_response_id") == f"{{{number}.id}}":
                return True
        elif body.get("stream_id") == stream:
            return False
    return False
