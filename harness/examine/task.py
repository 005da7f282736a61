"""A task and its outcome; an adapter reads and writes each as a line of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from harness.core.errors import Malformed, error_chain
from harness.core.exchange import Json
from harness.core.registry import suggest_name

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
    explicitly. Of a history that it sends again it keeps, by its own means, only so many of the last messages or items as
    `keep_last` says.
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
    keep_last: int | None = None
    state: str = "replay"
    project_agent: str = ""
    dialect: str = "openai"
    base_url: str = ""
    api_key: str = ""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Task:
        """Read a task from the JSON of its members; unknown members are ignored."""
        own = {name: value for name, value in body.items() if name in cls.__dataclass_fields__}
        kinds = {"agents": Agent, "tools": Tool, "approvals": UserAnswer}
        lists = {name: tuple(kind(**_tuples(entry)) for entry in own.get(name, ())) for name, kind in kinds.items()}
        return cls(**{**_tuples(own), **lists})


def _tuples(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in members.items()}


_KINDS: Mapping[str, type] = {"refusal": str, "usage": dict, "error": dict}
"""The members of an outcome that are no lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result as the client's user sees it; members that the client cannot express are None.

    `texts` are its final answers, one per answered prompt; `streamed` is the streamed text of each. `annotations` are
    the citations of the last answer, `{"type", "url" or "file_id" …}`; `calls` the tools that it ran, `{"name",
    "arguments"}`; `refusal` is the model's refusal, if the client distinguishes it from a text. `incomplete` has the
    reason why each text was cut, in the API's or the client's words, empty for a complete text. `reasoning` has the
    summaries; `usage` has `input_tokens`, `output_tokens`, `total_tokens` of all requests; `interruptions` are the
    names of the tools that the user was asked about, and the links for consent. `error` is the error that ended the
    task: `{"type", "message", "status"}`.
    """

    texts: Sequence[str] = ()
    streamed: Sequence[str] | None = None
    annotations: Sequence[Mapping[str, Any]] | None = None
    calls: Sequence[Mapping[str, Any]] | None = None
    refusal: str | None = None
    incomplete: Sequence[str] | None = None
    reasoning: Sequence[str] | None = None
    usage: Mapping[str, int] | None = None
    interruptions: Sequence[str] | None = None
    error: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The last final answer; empty without any."""
        return self.texts[-1] if self.texts else ""

    @classmethod
    def from_json(cls, body: object) -> Outcome:
        """Read an outcome from JSON. Malformed names the wrong member."""
        if not isinstance(body, dict):
            raise Malformed(f"an outcome is an object, not {type(body).__name__}")
        known = [member.name for member in fields(cls)]
        for name, value in body.items():
            if name not in known:
                raise Malformed(f"an outcome has no member {name!r}. {suggest_name(name, known)}")
            if value is not None and not isinstance(value, kind := _KINDS.get(name, list)):
                raise Malformed(f"outcome.{name} is of type {type(value).__name__}, not {kind}")
        if not all(isinstance(text, str) for text in body.get("texts") or ()):
            raise Malformed("outcome.texts must hold strings, one for each prompt")
        if not all(isinstance(reason, str) for reason in body.get("incomplete") or ()):
            raise Malformed("outcome.incomplete must hold strings, one for each text, empty where it is whole")
        return cls(**{**body, "texts": body.get("texts") or ()})


def describe_error(error: Exception) -> Json:
    """Describe an exception as the `error` of an outcome; `status` is the HTTP status, if there was an answer."""
    statuses = (status for cause in error_chain(error) if (status := getattr(cause, "status_code", None)) is not None)
    return {"type": type(error).__name__, "message": str(error), "status": next(statuses, None)}
