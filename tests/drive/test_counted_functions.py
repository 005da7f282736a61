"""Tools that record their runs, and the outputs of a client that none of these returned."""

import asyncio
import inspect
import json
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from harness import counted
from harness.analysis.loss import NEXT, PROMPT, call, output
from harness.core.errors import ConfigError
from harness.drive.counted_functions import record_runs
from harness.items import function_call, message
from tests.support.in_process import Client

SKIPPED = "Tool execution skipped."


class City(Enum):
    PARIS = "paris"


@dataclass
class Report:
    city: City
    degrees: float
    source: object


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    with record_runs(client.world.tool_runs, "no module"):
        yield client


TOOLS = [{"type": "function", "name": "deploy", "parameters": {"type": "object", "properties": {}}, "strict": False}]


def answered(client: Client, *outputs: str, arguments: str = '{"ref":"v2"}') -> list[str]:
    """Return what is lost when the model calls `deploy` so many times, and gets these outputs."""
    history: list[Any] = [PROMPT]
    client.mock.script(
        *[function_call("deploy", arguments, call_id=f"call_{number}") for number in range(len(outputs))],
        message("Done."),
    )
    for number, text in enumerate(outputs):
        client.ask(history, tools=TOOLS)
        history += [call(f"call_{number}", arguments=arguments), output(f"call_{number}", text)]
    client.ask(history, tools=TOOLS)
    return [lost.message for lost in client.mock.losses if lost.loss == "output-invented"]


def deploy(ref: str) -> Any:
    return f"{ref} is live"


def returning(returned: Any) -> Callable[[str], Any]:
    """Build a tool `deploy` that returns this, or raises it."""

    def deploy(ref: str) -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    return deploy


RING: list[Any] = ["v2"]
RING.append(RING)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ("v2 is live", "v2 is live"),
        ("v2 is live", '"v2 is live"'),
        ("v2 is live", '{"result": "v2 is live"}'),
        ("v2 is live", "v2 is…"),
        ("v2 is live", "Result: v2 is live\n(1 s)"),
        ({"city": "Paris", "degrees": 18}, '{"city":"Paris","degrees":18}'),
        ({"city": "Paris", "degrees": 18}, "{'city': 'Paris', 'degrees': 18}"),
        (Report(City.PARIS, 18.5, object()), json.dumps({"city": "paris", "degrees": 18.5})),
        ([True, "yes"], '[true, "yes"]'),
        (None, "Success."),
        (object(), "<object>"),
        ("", "(no output)"),
        (RING, "v2"),
        (OSError("v2"), "An error occurred while running the tool: v2"),
    ],
)
def test_a_tool_that_ran_is_answered_with_what_it_returned_or_a_framework_makes_of_it(
    client: Client, returned: Any, text: str
) -> None:
    with suppress(OSError):
        counted(returning(returned))("v2")
    assert answered(client, text) == []


@pytest.mark.parametrize("returned", ["v2 is live", {"told": ["v2 is live"]}])
@pytest.mark.parametrize("text", [SKIPPED, "interrupted", "ok", "v3 is live"])
def test_a_tool_that_ran_is_not_answered_with_another_text(client: Client, text: str, returned: Any) -> None:
    counted(returning(returned))("v2")
    assert answered(client, text) == [
        "function_call deploy (call_0) from exchange 1 was answered with a text that no tool returned: "
        f'"{text}", but deploy returned "v2 is live"'
    ]


@pytest.mark.parametrize(
    ("runs", "texts", "lost"),
    [
        (1, ["v2 is live", "The user denied it."], 0),
        (1, ["v2 is live", "Another text."], 0),
        (1, ["v2 is live", SKIPPED], 1),
        (1, ["The user denied it.", "v2 is live"], 0),
        (2, ["v2 is live", SKIPPED], 1),
    ],
)
def test_each_run_answers_one_call(client: Client, runs: int, texts: list[str], lost: int) -> None:
    tool = counted(deploy)
    for _ in range(runs):
        tool("v2")
    assert len(answered(client, *texts)) == lost


def test_a_run_is_of_a_call_whose_arguments_a_framework_has_parsed(client: Client) -> None:
    def deploy(count: int, city: City) -> str:
        return "v2 is live"

    counted(deploy)(3, City.PARIS)
    assert len(answered(client, SKIPPED, arguments='{"city": "paris", "count": 3}')) == 1


def test_a_tool_that_did_not_run_is_not_answered_with_a_placeholder(client: Client) -> None:
    counted(deploy)
    assert answered(client, SKIPPED) == [
        f'function_call deploy (call_0) from exchange 1 was answered with a text that no tool returned: "{SKIPPED}"'
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Tool execution was not approved; it was skipped.",
        "Not executed: the user denied it.",
        "Tool not executed - a final result was already processed.",
        "Invalid arguments: not run.",
        '{"cancelled": 0}',
    ],
)
def test_a_tool_that_did_not_run_is_answered_with_the_reason(client: Client, text: str) -> None:
    counted(deploy)
    assert answered(client, text) == []


@pytest.mark.parametrize(("module", "lost"), [("no module", 0), (__name__, 1)])
def test_a_tool_that_was_counted_before_the_test_is_known_by_its_module(module: str, lost: int) -> None:
    counted(deploy)
    client = Client()
    with record_runs(client.world.tool_runs, module):
        assert len(answered(client, SKIPPED)) == lost


def test_a_run_after_a_test_is_not_of_that_test() -> None:
    client = Client()
    with record_runs(client.world.tool_runs, "no module"):
        tool: Callable[[str], Any] = counted(deploy)
    tool("v2")
    assert len(client.world.tool_runs.finished) == 0


def test_a_prompt_may_follow_a_call_that_was_given_up(client: Client) -> None:
    client.mock.script(function_call("deploy", {"ref": "v2"}, call_id="call_1"), message("Ok."))
    client.ask([PROMPT], tools=TOOLS)
    client.ask([PROMPT, call(), output(value=SKIPPED), NEXT], tools=TOOLS)
    assert client.mock.losses == []


def test_a_run_begins_between_the_exchanges_that_may_have_asked_for_it(client: Client) -> None:
    def ship(ref: str, *, asks: bool) -> str:
        if asks:
            client.ask([PROMPT])
        return str(inner(ref))

    def helper() -> None:
        inner("v2")

    inner, outer = counted(deploy), counted(ship)
    client.mock.script("One.", "Two.")
    client.ask([PROMPT])
    with record_runs(client.world.tool_runs, __name__, inspect.currentframe().f_code.co_name):  # type: ignore[union-attr]
        helper()
        inner("v2")
        assert all(inner(ref) for ref in ["v2"])
        (lambda: outer("v2", asks=False))()
        (lambda: outer("v2", asks=True))()
        helper()
    runs = [(run.name, run.after, run.until) for run in client.world.tool_runs.finished]
    assert runs == [
        *[("deploy", 0, 1), ("deploy", 1, 1), ("deploy", 1, 1)],  # by the client, and by the test itself
        *[("deploy", 1, 1), ("ship", 0, 1)],
        *[("deploy", 1, 2), ("ship", 0, 1), ("deploy", 0, 2)],
    ]


def test_a_counted_tool_remembers_the_arguments_of_each_run_by_name() -> None:
    def deploy(ref: str, *, force: bool = False) -> str:
        return ref

    tool = counted(deploy)
    assert [tool("v1"), tool(ref="v2", force=True)] == ["v1", "v2"]
    assert tool.runs == [{"ref": "v1"}, {"ref": "v2", "force": True}]


def test_a_counted_tool_of_a_coroutine_function_stays_one() -> None:
    async def deploy(ref: str) -> str:
        return ref

    tool = counted(deploy)
    assert inspect.iscoroutinefunction(tool)
    assert asyncio.run(tool("v1")) == "v1"
    assert tool.runs == [{"ref": "v1"}]


def test_a_counted_tool_counts_a_run_that_fails() -> None:
    tool = counted(returning(OSError("down")))
    with pytest.raises(OSError, match="down"):
        tool("v1")
    assert tool.runs == [{"ref": "v1"}]


def test_a_counted_tool_looks_like_the_function() -> None:
    def deploy(ref: str, count: int = 1) -> str:
        """Deploy it."""
        return ref

    tool: Any = counted(deploy)
    assert (tool.__name__, tool.__doc__) == ("deploy", "Deploy it.")
    assert inspect.signature(tool) == inspect.signature(deploy)
    assert typing.get_type_hints(tool) == {"ref": str, "count": int, "return": str}


@pytest.mark.parametrize(("no_function", "words"), [(3, "pass the function itself"), (iter, "your own function")])
def test_a_counted_tool_is_made_of_a_function_with_a_signature(no_function: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        counted(no_function)
