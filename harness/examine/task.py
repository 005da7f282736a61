"""The task of a client under examination; its process gets it as one line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.core.exchange import Json

NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def string_parameters(*names: str) -> Json:
    """Make the JSON Schema of a tool whose arguments are strings of these names, all of them required."""
    properties = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the client offers the model; it runs by a POST of its arguments to `url`, where runs are counted.

    `returns` is what it returns; with `raises` it raises an error of that text instead. `needs_approval` says that the
    client asks its user before it runs. A `custom` tool takes a text instead of arguments, a `deferred` one is declared
    with `defer_loading`. `url` is set when the case runs.
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
    """An agent: its own instructions, the names of its tools, of the agents it may hand over to or ask as tools.

    The function by which it hands over to `ops` is `transfer_to_ops`, that by which it asks is `ask_ops`, with a string
    `input`.
    """

    name: str
    instructions: str
    tools: tuple[str, ...] = ()
    handoffs: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """What the user answers when the client asks about a call of a tool; used in the order of the questions."""

    tool: str
    approve: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task of a client: to send each prompt of `prompts` in one session, and to report what came.

    The first of `agents` gets the prompts; without any, the client is a single one with `instructions` and all `tools`.
    `hosted_tools` are tools of the API, as the request has them. `options` are members of the request that the client
    sends as they are (`{"reasoning": {"effort": "low"}}`). `stream` asks for streamed answers. `state` says how the
    session is kept: `replay` (the client sends all items again), `stateless` (the same with `store` false and encrypted
    reasoning), `chain` (`previous_response_id`), `conversation`, or `thread` (one of the Assistants API). `base_url`,
    `api_key` and `dialect` lead to the API.

    `project_agent` names an agent that a Foundry project keeps: the client asks that one, which has a model, instructions
    and tools of its own, and runs those of `tools` that it calls.

    An answer that contains `guardrail` trips it: the task ends in an error. `timeout` are the seconds after which the client
    gives up on a request. Before the prompt with the number `compact_after`, from 0, it compacts its history by hand.
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
        """This task as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Task:
        """Make a task of the JSON object that `as_json` made; unknown members are left out."""
        own = {name: value for name, value in body.items() if name in cls.__dataclass_fields__}
        kinds = {"agents": Agent, "tools": Tool, "approvals": UserAnswer}
        lists = {name: tuple(kind(**_tuples(entry)) for entry in own.get(name, ())) for name, kind in kinds.items()}
        return cls(**{**_tuples(own), **lists})


def _tuples(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}
