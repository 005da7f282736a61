"""Chains of `previous_response_id`: a request continues the newest response."""

from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.items import is_assistant
from harness.analysis.history.request import HistoryRequest
from harness.analysis.loss import LossFacts, facts_about, loss
from harness.analysis.losses.examples import ask, chained
from harness.contract.rule import Case


def _then(previous: int, new: str) -> Case:
    return ask("P", chained("N"), chained(new, to=previous), turns=["A", "A2"])


@loss(
    message="{what} from exchange {said} is not in this request, which again continues the response before it",
    fix="After each answer, keep the id of the newest response as `previous_response_id`.",
    strict=True,
    loses=[_then(0, "N2")],
    keeps=[_then(1, "N2"), _then(0, "N"), ask("P > C", chained("O"), chained("O"))],
)
def chain_forked(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Requests continue a response that another has continued with a different user message, maybe on purpose."""
    id, keys = request.body.get("previous_response_id"), [key for key in request.placed_keys if key]
    if not isinstance(id, str) or not keys or keys[0][0] != "user":
        return
    for reply in reversed(history.replies):
        before = reply.request
        if (
            before.body.get("previous_response_id") == id
            and history.is_same_agent(before, request)
            and reply.is_completed
        ):
            said = [item for item in reply.output if is_assistant(item)]
            # An equal user message is a retry; without a message of the model nothing is lost.
            if said and [key for key in before.placed_keys if key] != keys:
                place = request.placed_items[0][0]
                yield facts_about(place, reply.number, said[0])
            return
