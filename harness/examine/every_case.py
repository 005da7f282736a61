"""What a run of any case must meet: requests say what the user set, the model gets what the tools returned."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_object, objects_in
from harness.core.text import pluralize, quote
from harness.examine.case import ObservedRun
from harness.examine.checks import RAN, accepted, instructions_of, read_output, text_of
from harness.examine.results import FIX
from harness.examine.task import Agent, Task, Tool
from harness.items.transcript import input_items

MAX_OUTPUT = 10_000
"""The maximum number of characters of an output that a client has to pass on whole; some shorten long ones."""


def find_unmet(seen: ObservedRun) -> Iterator[str]:
    """Yield what a client did otherwise than its user and its tools said."""
    for exchange in accepted(seen):
        for reason in _find_unsent(seen.task, exchange):
            yield f"request {exchange.number} {reason}\n{FIX}Send all settings and tools with each request, unchanged."
    yield from _find_unsent_prompts(seen)
    yield from _find_wrong_outputs(seen)


def find_repeated_runs(seen: ObservedRun) -> Iterator[str]:
    """Yield the tools that ran more often than the model called them."""
    called = Counter(call.name for call in seen.mock.calls)
    for name, count in Counter(run.name for run in seen.executions).items():
        if 0 < called[name] < count:
            yield f"{RAN}{name}() {count} times; the model called it {pluralize(called[name], 'time')}"


def _find_unsent(task: Task, exchange: Exchange) -> Iterator[str]:
    """Yield the settings and tools of a task that a request lacks; an agent of a project has its own."""
    body = exchange.request.body
    if not task.agents:  # each of several agents may have its own settings
        stores_nothing = {"store": False} if task.state == "stateless" else {}
        for name, value in {**stores_nothing, **task.options}.items():
            if not _holds(body.get(name), value):
                yield f"has `{name}`: {json.dumps(body.get(name))}, the user set {json.dumps(value)}"
        if not task.project_agent and body.get("model") not in (None, task.model):
            yield f"is for the model {quote(str(body['model']))}, the user chose {quote(task.model)}"
    offered = objects_in(body.get("tools"))
    by_name = {tool.get("name"): tool for tool in offered}
    for tool in () if task.project_agent else _tools_of(task, exchange):
        yield from _find_changes(tool, by_name.get(tool.name))
    for hosted in () if task.project_agent else task.hosted_tools:
        if not any(str(tool["type"]).startswith(hosted["type"]) for tool in offered):
            yield f"does not offer the tool `{hosted['type']}`"


def _holds(sent: Any, wanted: Any) -> bool:
    """Return whether a value is the wanted one; an object or a list may hold more."""
    if isinstance(wanted, dict):
        return isinstance(sent, dict) and all(_holds(sent.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(sent, list) and all(any(_holds(part, value) for part in sent) for value in wanted)
    return bool(sent == wanted)


def _tools_of(task: Task, exchange: Exchange) -> list[Tool]:
    """Return the functions of the agent that a request is for, which its instructions tell."""
    told = instructions_of(exchange)
    agents: list[Agent] = [agent for agent in task.agents if agent.instructions in told]
    names = {name for agent in agents for name in agent.tools} if task.agents else {tool.name for tool in task.tools}
    return [tool for tool in task.tools if tool.name in names]


def _find_changes(tool: Tool, sent: Json | None) -> Iterator[str]:
    if sent is None:
        yield f"does not offer the tool `{tool.name}`"
    elif tool.description not in str(sent.get("description")):
        yield f"describes the tool `{tool.name}` as {quote(str(sent.get('description')))}, not {quote(tool.description)}"
    elif not tool.custom and (gone := _parameters(tool.parameters) - _parameters(sent.get("parameters"))):
        yield f"offers the tool `{tool.name}` without its parameters {', '.join(sorted(gone))}"


def _parameters(schema: object) -> set[str]:
    return set(as_object(as_object(schema).get("properties")))


def _find_unsent_prompts(seen: ObservedRun) -> Iterator[str]:
    """Yield the prompts that were answered, though no request has them as the user's."""
    bodies = [as_object(exchange.request.body) for exchange in seen.exchanges if exchange.status < 400]
    given = [item for body in bodies for item in (body, *input_items(body), *_added_items(body))]
    said = [text_of(item) for item in given if item.get("role") == "user"]
    for prompt in seen.task.prompts[: len(seen.outcome.texts)]:
        if not any(prompt in text for text in said):
            yield f"the prompt {quote(prompt)} never reached the model\n{FIX}Send each prompt as a message of the user."


def _added_items(body: Json) -> list[Json]:
    """Return what a request adds to a conversation or a thread."""
    names = ("items", "messages", "additional_messages")
    return [item for name in names for item in objects_in(as_object(body.get("thread")).get(name) or body.get(name))]


def _find_wrong_outputs(seen: ObservedRun) -> Iterator[str]:
    """Yield outputs other than what the tool of the call returned, if there is one output for each run."""
    ran = Counter(run.name for run in seen.executions)
    for tool in seen.task.tools:
        got = [read_output(value) for call in seen.mock.calls if call.name == tool.name for _, value in call.outputs]
        returned = tool.returns if tool.raises is None and len(got) == ran[tool.name] else None
        if isinstance(returned, str) and len(returned) <= MAX_OUTPUT:
            wrong = [output for output in got if returned not in output]
            fix = f"\n{FIX}Answer each call, by its `call_id`, with what its tool returned."
            yield from (f"the model got {quote(text)} for {tool.name}(), not {quote(returned)}{fix}" for text in wrong)
