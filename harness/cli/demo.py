"""`responses-harness demo`: two agents against the mock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from harness.cli.program import ExitCode, Options, make_console, print_note
from harness.contract.rule import RULES, Rule
from harness.core.exchange import Exchange, Json
from harness.drive.clients import import_openai
from harness.items import function_call, message
from harness.items.transcript import EMPTY_CHAIN, Transcript, input_items
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.route import condition_value

if TYPE_CHECKING:
    from openai import OpenAI

KEY = "sk-demo"
MODEL = "gpt-4.1"
TASK = "Ship v2."
PLANNER_INSTRUCTIONS = "You are the planner. Hand the work over to ops."
OPS_INSTRUCTIONS = "You are ops. Deploy what you are asked for."
REFUSAL_RULE = "assistant_content"

PLAN_FILE: Json = {"type": "input_file", "file_url": "https://example.com/plan.pdf"}
REFUSED_INPUT: list[Any] = [
    {"role": "user", "content": "Write the plan as a file."},
    {"role": "assistant", "content": [PLAN_FILE]},
    {"role": "user", "content": "Is it ready?"},
]
REPAIRED_INPUT: list[Any] = [
    REFUSED_INPUT[0],
    {"role": "assistant", "content": [{"type": "output_text", "text": "Here is plan.pdf."}]},
    {"role": "user", "content": [PLAN_FILE, {"type": "input_text", "text": "Is it ready?"}]},
]


class NotRefusedError(Exception):
    """Raised if the mock accepts a request that the API refuses."""


def run_demo(api: MockApi) -> Iterator[Text]:
    """Run the demo and yield its lines; ConfigError without an SDK, NotRefusedError if the mock accepts too much."""
    import_openai("the demo")
    with serve_in_thread(api) as server:
        mock = api.open(KEY, name="demo", base_url=server.base_url)
        yield from _hand_over(mock)
        with _client(mock) as client:
            yield from _show_refusal(mock, client)


def _hand_over(mock: Mock) -> Iterator[Text]:
    mock.when(instructions="the planner").script(function_call("transfer_to_ops", {}))
    mock.when(instructions="are ops").script(function_call("deploy", {"ref": "v2"}), message("Deployed v2."))
    with_agents = _has_agents()
    yield Text(f"Two agents, run by {'openai-agents' if with_agents else 'openai'}: {TASK}", "bold")
    answer = asyncio.run(_run_with_agents(mock)) if with_agents else _run_with_openai(mock)
    yield from map(exchange_line, mock.exchanges)
    yield Text(f"The answer: {answer}\n")


def _has_agents() -> bool:
    """Return whether openai-agents is installed and fits the installed `openai`; others have a package `agents`, too."""
    try:
        from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool  # noqa: F401
    except ImportError:
        return False
    return True


def _show_refusal(mock: Mock, client: OpenAI) -> Iterator[Text]:
    from openai import BadRequestError

    mock.script(message("Yes, the plan is ready."))
    yield Text("A client sends a file back as the assistant's words:", "bold")
    try:
        client.responses.create(model=MODEL, input=REFUSED_INPUT)
    except BadRequestError:
        yield exchange_line(mock.exchanges[-1])
        yield from _refusal_lines(mock.exchanges[-1])
    else:
        raise NotRefusedError(
            f"the mock accepted an assistant turn with an input_file; rule {REFUSAL_RULE} is not held."
        )
    yield Text("The same, repaired: the words as output_text, the file in the user's turn:", "bold")
    client.responses.create(model=MODEL, input=REPAIRED_INPUT)
    yield exchange_line(mock.exchanges[-1])


def exchange_line(exchange: Exchange) -> Text:
    """Describe an exchange in one line: number, status, agent, request and answer."""
    request, refused = exchange.request, exchange.status >= 400
    read = Transcript(EMPTY_CHAIN, input_items(request.body))
    agent = {PLANNER_INSTRUCTIONS: "planner", OPS_INSTRUCTIONS: "ops"}.get(
        condition_value(request, read, "instructions").strip(), "client"
    )
    text = Text(f"{exchange.number:>3}  ")
    text.append(str(exchange.status), "red" if refused else "green")
    text.append(f"  {agent:<8}{condition_value(request, read, 'input').strip()} → {_answer_text(exchange.answer.body)}")
    return text


def _answer_text(body: Json) -> str:
    if error := body.get("error"):
        return f"{error['type']}"
    return ", ".join(
        f"function_call {item['name']} {item['arguments']}"
        if item["type"] == "function_call"
        else str(item["content"][0]["text"])
        for item in body["output"]
    )


def _refusal_lines(exchange: Exchange) -> Iterator[Text]:
    rule, error = RULES[exchange.answer.rule or ""], exchange.answer.body["error"]
    for label, text in _refusal_details(rule, error):
        yield Text.assemble(f"       {label:<7}", (text, "red" if label == "says" else ""))
    yield Text()


def _refusal_details(rule: Rule, error: Json) -> Iterator[tuple[str, str]]:
    source = min(rule.sources, key=lambda source: source.level != rule.level)
    yield "says", error["message"]
    yield "where", error["param"]
    yield "rule", f"{rule.id} ({source.level}: {source.where})"
    yield "why", " ".join(rule.doc.split())
    yield "fix", rule.fix


def _client(mock: Mock) -> OpenAI:
    from openai import DefaultHttpxClient, OpenAI

    # The proxy and the organization of the user's environment must not affect the demo.
    direct = DefaultHttpxClient(trust_env=False)
    return OpenAI(base_url=mock.base_url, api_key=mock.api_key, max_retries=0, http_client=direct)


async def _run_with_agents(mock: Mock) -> str:
    from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    @function_tool
    def deploy(ref: str) -> str:
        """Deploy a version."""
        return f"{ref} is live"

    direct = DefaultAsyncHttpxClient(trust_env=False)
    options: Json = {"base_url": mock.base_url, "api_key": mock.api_key, "max_retries": 0, "http_client": direct}
    async with AsyncOpenAI(**options) as client:
        model = OpenAIResponsesModel(MODEL, client)
        ops = Agent(name="ops", instructions=OPS_INSTRUCTIONS, model=model, tools=[deploy])
        planner = Agent(name="planner", instructions=PLANNER_INSTRUCTIONS, model=model, handoffs=[ops])
        result = await Runner.run(planner, TASK, run_config=RunConfig(tracing_disabled=True))
        return str(result.final_output)


def _run_with_openai(mock: Mock) -> str:
    """Run the same handoff as a plain loop around the OpenAI SDK."""
    tools: dict[str, Callable[..., str]] = {
        "transfer_to_ops": lambda: '{"assistant": "ops"}',
        "deploy": lambda ref: f"{ref} is live",
    }
    instructions = PLANNER_INSTRUCTIONS
    items: list[Any] = [{"role": "user", "content": TASK}]
    with _client(mock) as client:
        while True:
            declared: list[Any] = [
                _declare_tool("transfer_to_ops")
                if instructions is PLANNER_INSTRUCTIONS
                else _declare_tool("deploy", "ref")
            ]
            response = client.responses.create(model=MODEL, instructions=instructions, input=items, tools=declared)
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                return response.output_text
            for call in calls:
                output = tools[call.name](**json.loads(call.arguments))
                items += [call.to_dict(), {"type": "function_call_output", "call_id": call.call_id, "output": output}]
                instructions = OPS_INSTRUCTIONS


def _declare_tool(name: str, *arguments: str) -> Json:
    members = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": members, "required": [*arguments], "additionalProperties": False}
    return {"type": "function", "name": name, "parameters": parameters, "strict": True}


def demo(_: Options) -> None:
    """Run two agents against the mock, then a refusal and its fix.

    It needs no network and no key.
    """
    console = make_console()
    try:
        for line in run_demo(MockApi()):
            console.print(line)
    except NotRefusedError as problem:
        print_note(str(problem))
        raise typer.Exit(ExitCode.FOUND) from problem
