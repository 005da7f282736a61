"""How long a client waits for an answer that does not come."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.client_mistake import CLIENT_MISTAKES, MistakeFacts, SeenClient, mistake
from harness.analysis.client_mistakes.examples import OK, Sending, seen, stalled, streamed


@mistake(
    CLIENT_MISTAKES,
    message="the client waited {waited:.1f} s for request {number} without receiving a byte; the limit is {patience:g} s",
    fix="Give the client a read timeout: `OpenAI(timeout=httpx.Timeout(60, read=20))`; the default of OpenAI's SDKs "
    "is ten minutes.",
    source="OpenAI's SDKs wait 600 s by default; `patience` sets the limit",
    shows=[
        seen(Sending(0, stalled(90), lasts=90)),
        seen(Sending(0, stalled(2), lasts=2.1), patience=2),
        seen(Sending(0, stalled(90, streamed()), lasts=91)),
    ],
    lacks=[
        seen(Sending(0, stalled(90), left=20)),
        seen(Sending(0, stalled(30), lasts=30)),
        seen(Sending(0, stalled(2), lasts=2), Sending(3, OK), patience=5),
    ],
)
def no_timeout(client: SeenClient) -> Iterator[MistakeFacts]:
    """Clients wait longer than `patience` for an answer, and would wait forever if it never came."""
    for exchange, times in client.timed:
        pauses = exchange.answer.delivery.pauses if exchange.answer.delivery else ()
        sent = times.events if exchange.answer.events is not None else int(times.whole)
        # Within a stream each silence counts by itself: a client may time out between events.
        silent = (pause.seconds for pause in pauses if (pause.after or 0) < (sent or 0))
        waited = max([(times.first_byte or times.arrived) - times.arrived, *silent])
        if waited > client.patience and times.left is None:
            yield {"number": exchange.number, "waited": waited, "patience": client.patience}
