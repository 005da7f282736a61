"""The ready adapters: short, and each drives its client where that is installed."""

import asyncio
import inspect
import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness.examine import adapters
from harness.examine.adapter import modes_of, parse_modes
from harness.examine.adapters import ADAPTERS, command_for
from harness.examine.results import RED
from harness.examine.run_cases import examine, select_cases
from harness.examine.session import ClientSession, SessionAdapter
from harness.examine.task import Task, Tool
from harness.examine.worker import load
from tests.examine.reference.in_process import open_bench
from tests.support.slow import slow_except

HERE = Path(adapters.__file__).parent
LINES = 84
"""What an adapter may take: it is an example of how to write one."""


@pytest.mark.parametrize(
    "file", sorted(program.name for program in HERE.glob("*.*") if program.stem.partition("_")[0] != "node")
)
def test_an_adapter_is_short(file):
    assert len((HERE / file).read_text(encoding="utf-8").splitlines()) <= LINES


def test_a_tool_is_a_function_with_the_signature_of_its_schema() -> None:
    members = {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}}
    tool = Tool("look", "Look.", {"type": "object", "properties": members, "required": ["city"]}, returns="18 °C")
    look = ClientSession(Task(prompts=("hi",), tools=(tool,))).functions["look"]
    assert (look.__name__, look.__doc__) == ("look", "Look.")
    assert str(inspect.signature(look)) == "(*, city: str, days: list[int] = None) -> str"


SOME = (
    "answers/usage,answers/told-cut-by-length,answers/failed,answers/reasoning-summary,tools/raises,tools/custom,"
    "tools/deferred,state/chain,state/stateless,agents/mcp-*,errors/no-headers,dialects/assistants-*"
)


@pytest.mark.parametrize(("name", "count"), slow_except([0], [("openai", 28), ("openai-assistants", 18)]))
def test_a_client_of_openai_meets_cases_of_each_kind_in_its_first_and_last_mode(name: str, count: int) -> None:
    client = load(ADAPTERS[name])
    modes = {case.id: (case, [*modes_of(case, client.declare())]) for case in select_cases(SOME)}
    runs = [(case, mode) for case, every in modes.values() for mode in dict.fromkeys([*every[:1], *every[-1:]])]
    with open_bench() as bench:
        cells = bench.run_each(runs, client)
    assert {f"{cell.case} {cell.mode}": cell.reasons for cell in cells if cell.verdict != "pass"} == {}
    assert len(cells) == count


@pytest.mark.slow
def test_the_client_of_openai_meets_every_case_but_those_of_a_stream_that_just_ends():
    """In two of its eight modes."""
    modes = parse_modes(["stream,replay", "plain,chain"])
    found = examine(command_for("openai"), select_cases("*"), modes=modes, jobs=3)
    assert {cell.case for cell in found.cells if cell.verdict in RED} == {
        "streams/end-without-final-event",
        "streams/empty",
    }
    assert sum(cell.verdict == "pass" for cell in found.cells) > 250


def test_every_adapter_has_its_file():
    modules = [target.partition(":")[0].removeprefix(f"{adapters.__name__}.") for target in ADAPTERS.values()]
    assert all((HERE / (name if name.endswith(".mjs") else f"{name}.py")).is_file() for name in modules)


@pytest.mark.parametrize(("says", "crashes"), [(lambda: {}["reply"], True), (lambda: json.loads("{"), False)])
def test_an_exception_of_the_adapter_itself_is_a_crash_and_one_of_its_client_an_error(says, crashes):
    class Session(ClientSession):
        async def say(self, prompt: str) -> str:
            return str(says())

    class Driven(SessionAdapter):
        package, session = "mine", Session

    with pytest.raises(KeyError) if crashes else nullcontext():
        outcome = asyncio.run(Driven().run(Task(prompts=("hi",))))
        assert "Expecting property name" in str(outcome.error)
