"""The calls that a client had to make, and the approvals that calls of remote servers needed, in the viewer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from harness.analysis.approval_ledger import Approval, ApprovalLedger, concerns_approvals
from harness.analysis.call_ledger import Call, collect_calls
from harness.analysis.flow_steps import FlowStep
from harness.analysis.history.history import History
from harness.core.exchange import ToolRuns
from harness.core.json_values import as_object, objects_in
from harness.viewer.case_model import ShownCall
from harness.viewer.pool import Pool
from harness.world.world import World


def show_calls(world: World, steps: Sequence[FlowStep], pool: Pool) -> list[ShownCall]:
    """Convert every call and approval of a World, in the order in which the model asked for them."""
    calls = [_show_call(call, world.tool_runs, pool) for call in collect_calls(world.exchanges)]
    approvals = [_show_approval(approval, pool) for approval in _approvals(world, steps)]
    return sorted([*calls, *approvals], key=lambda call: call.said)


def _show_call(call: Call, runs: ToolRuns, pool: Pool) -> ShownCall:
    answered = [number for number, _ in call.outputs]
    executed = _count_runs(call, runs) if call.name in runs.names else len(call.outputs)
    value = call.outputs[-1][1] if call.outputs else ""
    output = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return ShownCall(
        pool.label(call.call_id),
        pool.label(call.name or call.type.removesuffix("_call")),
        pool.label(call.arguments),
        call.said or 0,
        answered,
        executed,
        output=pool.label(output),
    )


def _count_runs(call: Call, runs: ToolRuns) -> int:
    """Count the executions of a tool with the arguments of a call."""
    wanted = call.parsed_arguments
    own = [run for run in runs.finished if run.name == call.name]
    return sum(not isinstance(wanted, dict) or dict(run.arguments) == wanted for run in own)


def _show_approval(approval: Approval, pool: Pool) -> ShownCall:
    decided = "waiting" if approval.approve is None else "approved" if approval.approve else "denied"
    return ShownCall(
        pool.label(approval.id),
        pool.label(f"{approval.server_label}.{approval.name}"),
        pool.label(approval.arguments),
        approval.asked or 0,
        approval.answers,
        approval.executed,
        decided,
        pool.label(approval.reason or ""),
    )


def _approvals(world: World, steps: Sequence[FlowStep]) -> Iterable[Approval]:
    """Return the approvals of a World; if the World is only a journal, they are read from it."""
    if len(world.approval_ledger) or not any(
        concerns_approvals([*step.new_items, *step.output_items]) for step in steps
    ):
        return world.approval_ledger
    ledger, history = ApprovalLedger(), History()
    for exchange in world.exchanges:
        request = history.read_request(exchange)
        said = objects_in(as_object(exchange.answer.body).get("output"))
        output = [item for item in said if isinstance(item.get("type"), str)]
        if request and exchange.status == 200:
            added = [item for _, item in request.placed_items]
            if concerns_approvals([*added, *output]):
                try:
                    ledger.add_exchange(exchange.number, request.previous_items, added, output)
                except KeyError:  # items of a recording may lack members
                    continue
        history.add_exchange(exchange, request)
    return ledger
