"""A World as it was, read while requests go on changing the World."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import orjson

from harness import Mock
from harness.core.delivery import Gate, SendRecord
from harness.core.exchange import Exchange, ReceivedRequest, SentTurn
from harness.explain.find_causes import find_causes
from harness.items import mcp_approval_request
from harness.items.kind import Item
from harness.report.judge_world import judge_world
from harness.server.mock_api import MockApi
from harness.viewer.build_case import CaseHead, build_case
from harness.world.snapshot import take_snapshot
from harness.world.world import World

SHARED = frozenset({"store", "uploads", "containers", "mcp_servers", "ids", "models", "account", "limits", "quotas"})
"""What reports do not read of a World, or only look up in."""
CHANGING = (list, dict, set, deque)
ASKS = {"model": "gpt-4.1", "input": "hi"}
REMOTE = {"type": "mcp", "server_label": "prod", "server_url": "https://a.b"}


def ask(api: MockApi, body: Any, path: str = "/responses", key: str = "sk-a") -> None:
    api.handle(ReceivedRequest("POST", f"/v1{path}", {"authorization": f"Bearer {key}"}, raw=orjson.dumps(body)))


def use(api: MockApi, mock: Mock) -> None:
    """Change all that can be seen of a World, once more."""
    mock.script("Sunny.", mcp_approval_request("prod", "deploy", {}), "left")
    mock.when(instructions="planner").script("Plan.")
    mock.route("POST", "/embeddings", [{"a": 1}, {"b": 2}])
    mock.gate(f"gate {mock.world.exchange_count}")
    mock.webhooks("http://localhost:1/hook")
    with mock.refuses("invalid_type"):
        ask(api, {**ASKS, "input": 17})
    mock.world.refusals.expect("invalid_type", required=False)
    for body in (ASKS, {**ASKS, "tools": [REMOTE]}, {**ASKS, "input": 1}, {}):
        ask(api, body)
    ask(api, {}, "/embeddings")
    ask(api, {}, key="sk-closed")
    mock.world.tool_runs.turns.append(SentTurn(1, [{"role": "user", "content": "Who?"}]))
    mock.world.edge.records[mock.world.exchange_count] = SendRecord(1.0, 0)


def shown(world: World) -> list[str]:
    """What is shown of a World."""
    mock = Mock(world)
    views = ("replies", "calls", "approvals", "usage", "cache", "path", "flow", "retries", "losses", "deliveries")
    parts = [*(getattr(mock, name) for name in views), find_causes(world, mock.losses, strays=True), judge_world(mock)]
    return list(map(str, [*parts, build_case(CaseHead("a"), world), world.strays, world.refusals.expected]))


def changing_parts(value: Any, place: str = "world") -> Iterator[tuple[int, str]]:
    """Yield the id and the place of each list, dict, set and deque of a World that is not in its journal."""
    if isinstance(value, CHANGING):
        yield id(value), place
        parts = value.items() if isinstance(value, dict) else enumerate(value)
    elif type(value).__module__.startswith("harness.") and not isinstance(value, (Exchange, Gate, Item, type)):
        names = getattr(value, "__slots__", None) or getattr(value, "__dict__", {})
        parts = [(name, getattr(value, name)) for name in names if hasattr(value, name)] if names else ()
    else:
        return
    for name, part in parts:
        if name not in SHARED and not place.endswith(".places"):
            yield from changing_parts(part, f"{place}.{name}")


def test_nothing_that_requests_change_is_shared() -> None:
    api = MockApi(keys=["sk-a"])
    use(api, mock := api.open("sk-a"))
    kept = dict(changing_parts(mock.world))
    taken = dict(changing_parts(take_snapshot(mock.world)))
    assert {kept[id] for id in kept.keys() & taken.keys()} == set()
    assert len(taken) > 30


def test_what_a_snapshot_shows_does_not_change() -> None:
    api = MockApi(keys=["sk-a"])
    mock = api.open("sk-a")
    use(api, mock)
    taken = take_snapshot(mock.world)
    assert shown(taken) == shown(mock.world)
    before = shown(taken)
    mock.world.edge.records[mock.world.exchange_count].add_part(7, 2.0)  # type: ignore[union-attr]
    use(api, mock)
    assert shown(taken) == before
    assert sum(now != then for now, then in zip(shown(mock.world), before, strict=True)) >= 10


def test_nothing_is_delivered_to_the_webhooks_of_a_snapshot() -> None:
    mock = MockApi().open("sk-a")
    mock.webhooks("http://localhost:1/hook")
    taken = take_snapshot(mock.world)
    assert (Mock(taken).deliveries, mock.world.courier is None) == ([], False)
