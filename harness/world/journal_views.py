"""`JournalViews`: a test's views of its World, computed from the journal on each access."""

import warnings
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.call_ledger import collect_calls
from harness.analysis.collect_replies import Usage, collect_replies, sum_usage
from harness.analysis.find_retries import Retry, find_retries
from harness.analysis.flow import Flow, build_flow
from harness.analysis.lanes import CLIENT_LANE, LaneExchange, assign_lanes, group_by_lane, without_probes
from harness.analysis.loss import Lost, losses_of
from harness.analysis.path import Agents, Approvals, Calls, Path, PathOwner, build_path
from harness.api.costs import find_cost_of
from harness.core.errors import ConfigError
from harness.core.exchange import Exchange
from harness.core.replies import ModelReplies
from harness.core.webhooks import WebhookDelivery
from harness.world.prompt_cache_misses import CacheReport, find_misses
from harness.world.webhooks import NO_COURIER
from harness.world.world import World


class JournalViews:
    """The journal of a World, and the views computed from it."""

    __slots__ = ("world",)

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def exchanges(self) -> list[Exchange]:
        """Every request and its answer, oldest first."""
        return self.world.exchanges

    @property
    def replies(self) -> ModelReplies:
        """The model's replies as shown by the answers so far: one per response or run, oldest first."""
        return collect_replies(self.exchanges)

    @property
    def said(self) -> ModelReplies:
        """The old name of `replies`, which goes in the next release."""
        warnings.warn("mock.said is now mock.replies; the old name goes.", DeprecationWarning, stacklevel=2)
        return self.replies

    @property
    def calls(self) -> Calls:
        """All calls for a client to answer, in order, each with its outputs and the request that led to it.

        The list has assertions on a part of it, such as `assert mock.calls.named("get_weather").times(2)`.
        """
        exchanges, agents = tuple(self.exchanges), self._agents_by_number()
        calls = (replace(call, agent=agents.get(call.said or 0, "")) for call in collect_calls(exchanges))
        return Calls(calls, self._owner_of(exchanges))

    @property
    def approvals(self) -> Approvals:
        """All MCP calls that needed an approval, in order, each with its answer and how often the call was made."""
        return Approvals(self.world.approval_ledger, self._owner_of(tuple(self.exchanges)))

    @property
    def agents(self) -> Agents:
        """The agents by name, in the order in which they took over: `["planner", "ops", "planner"]`."""
        return Agents(self.path, self.flow.hand_offs)

    @property
    def usage(self) -> Usage:
        """The tokens of all replies: `input_tokens`, `cached_tokens`, …, and `by_agent["planner"].output_tokens`."""
        return sum_usage(self.replies, self._agents_by_number())

    @property
    def cache(self) -> CacheReport:
        """What the prompt cache spared: `hit_rate`, the share of all input tokens, `misses` with their reasons, the `cost`.

        `assert mock.cache.misses == []` fails with `request 4 missed: tools_changed: tools[2].description: …`.
        """
        agents, replies = self._agents_by_number(), self.replies
        used = sum_usage(replies, agents)
        rate = used.cached_tokens / used.input_tokens if used.input_tokens else 0.0
        exchanges = {exchange.number: exchange for exchange in self.exchanges}
        costs = [find_cost_of(exchanges[reply.exchange], self.world.as_of) for reply in replies if reply.usage]
        known = [cost for cost in costs if cost is not None]
        cost = sum(known) if len(known) == len(costs) else None
        return CacheReport(rate, find_misses(self.world.prompt_cache.prompts, agents), cost)

    @property
    def path(self) -> Path:
        """The agents' path, with what each called and said: `print(mock.path)`; failing assertions show it."""
        return self._build_path(self.exchanges)

    def _owner_of(self, exchanges: Sequence[Exchange]) -> PathOwner:
        return PathOwner(partial(self._build_path, exchanges), self.world.add_false_claim)

    def _build_path(self, exchanges: Sequence[Exchange]) -> Path:
        return build_path(exchanges, self.world.script.agent_hints, self.world.approval_ledger)

    def _agents_by_number(self) -> dict[int, str]:
        """Map the number of each exchange to the agent that sent it, without the client's own requests."""
        return {sent.exchange.number: sent.lane for sent in self._assigned() if sent.lane != CLIENT_LANE}

    def _assigned(self) -> list[LaneExchange]:
        return assign_lanes(without_probes(self.exchanges), self.world.script.agent_hints)

    @property
    def lanes(self) -> dict[str, list[Exchange]]:
        """The exchanges of each agent, by the name found in its requests: `{"planner": […], "ops": […]}`."""
        return group_by_lane(self.exchanges, self.world.script.agent_hints)

    @property
    def flow(self) -> Flow:
        """The flow so far: `print(mock.flow)`, or `mock.flow.mermaid` for a sequence diagram of it."""
        return build_flow(self._assigned())

    @property
    def retries(self) -> list[Retry]:
        """The requests that were sent again after a failure, each with its delay, reason and the requested wait."""
        return find_retries(self.exchanges, self.world.edge)

    @property
    def losses(self) -> list[Lost]:
        """The losses: what the clients lost of earlier answers, although the API accepted it.

        `losses_of(mock.exchanges, strict=True)` finds more.
        """
        return losses_of(self.exchanges, tool_runs=self.world.observed)

    @property
    def deliveries(self) -> list[WebhookDelivery]:
        """The webhook deliveries so far, oldest first; scheduled ones are made first, except inside an event loop."""
        self._deliver()
        return list(self.world.webhooks.deliveries) if self.world.webhooks else []

    def delivered(self) -> Awaitable[Sequence[WebhookDelivery]]:
        """Wait for pending deliveries inside an event loop: `deliveries = await mock.delivered()`."""
        if self.world.courier is None:
            raise ConfigError(NO_COURIER)
        return self.world.courier.delivered(self.world)

    def _deliver(self) -> None:
        if self.world.webhooks and self.world.courier:
            self.world.courier.deliver(self.world)
