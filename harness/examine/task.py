"""The task of a client under examination, which its process reads as one line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.core.exchange import Json

NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def string_parameters(*names: str) -> Json:
    """Build the JSON Schema of a tool whose arguments are required strings with these names."""
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the client offers the model; a POST of its arguments to `url` runs it and counts the run.

    `returns` is its result; with `raises` it raises an error with that text instead. With `needs_approval` the client
    asks its user before it runs. A `custom` tool takes a string instead of arguments, a `deferred` one is declared with
    `defer_loading`. `url` is set when the case runs.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: NO_PARAMETERS)
    returns: Any = "done"
    raises: str | None = None
    needs_approval: bool = False
    custom: bool = False
    deferred: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: instructions, names of tools, and names of agents that it may hand over to or ask as tools.

    The function that hands over to `ops` is `transfer_to_ops`, the one that asks it is `ask_ops`, with a string
    `input`.
    """

    name: str
    instructions: str
    tools: tuple[str, ...] = ()
    handoffs: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """The user's answer when the client asks about a tool call; used in the order of the questions."""

    tool: str
    approve: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task of a client: send each of `prompts` in one session, and report the results.

    The first of `agents` gets the prompts; without any, a single agent has `instructions` and all `tools`.
    `hosted_tools` are tools of the API, in the form of a request. `options` are members that the client adds to the
    request unchanged (`{"reasoning": {"effort": "low"}}`). `stream` asks for streamed answers. `state` is how the
    session is kept: `replay` (the client sends all items again), `stateless` (the same with `store` false and encrypted
    reasoning), `chain` (`previous_response_id`), `conversation`, or `thread` (of the Assistants API). `base_url`,
    `api_key` and `dialect` identify the API.

    `project_agent` names an agent stored in a Foundry project: the client asks that agent, which has its own model,
    instructions and tools, and runs those of `tools` that it calls.

    An answer that contains `guardrail` trips it, so that the task ends in an error. `timeout` is the number of seconds
    after which the client gives up on a request. Before prompt number `compact_after` (from 0) it compacts its history
    explicitly.
    """

    prompts: tuple[str, ...]
    instructions: str = "You are helpful."
    model: str = "gpt-5"
    agents: tuple[Agent, ...] = ()
    tools: tuple[Tool, ...] = ()
    hosted_tools: tuple[Mapping[str, Any], ...] = ()
    approvals: tuple[UserAnswer, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    stream: bool = False
    guardrail: str = ""
    timeout: float | None = None
    compact_after: int | None = None
    state: str = "replay"
    project_agent: str = ""
    dialect: str = "openai"
    base_url: str = ""
    api_key: str = ""

    def as_json(self) -> Json:
        """Return this task as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Task:
        """Read a task from the JSON of `as_json`; unknown members are ignored."""
        own = {name: value for name, value in body.items() if name in cls.__dataclass_fields__}
        kinds = {"agents": Agent, "tools": Tool, "approvals": UserAnswer}
        lists = {name: tuple(kind(**_tuples(entry)) for entry in own.get(name, ())) for name, kind in kinds.items()}
        return cls(**{**_tuples(own), **lists})


def _tuples(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}
