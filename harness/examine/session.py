"""A client's session, for Python adapters: sends one prompt after the other and collects the answers."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from traceback import walk_tb
from types import GenericAlias
from typing import Any, ClassVar, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from harness.drive.clients import import_openai
from harness.examine.adapter import Adapter
from harness.examine.task import Agent, Outcome, Task, Tool, describe_error

SEALED = "reasoning.encrypted_content"
"""The `include` value of a client that stores the reasoning itself."""
BASIC = ("tools", "hosted_tools", "options", "timeout")
"""Features that most clients have."""
OTHER_TOOLS = ("custom_tools", "deferred_tools")
"""Features of clients that send tools and items unchanged."""
APPROVALS = ("tool_approvals", "mcp_approvals")
"""Features of clients that ask their user before a local or remote tool runs."""
READ = ("reasoning", "incomplete")
"""Features of clients whose users get the API's response."""
Client = TypeVar("Client")
_COUNTS = ("input_tokens", "output_tokens", "total_tokens")


class ClientSession:
    """A running task. Implement `say`, which stores in the members what the client shows; see `Outcome`.

    `functions` are the tools by name; `streamed`, `annotations`, `interruptions` and `usage` stay None if the client
    cannot show them. `error` is an error that the client returns instead of raising it. `cut` is the reason why an
    answer is incomplete, for clients with the feature `incomplete`.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.functions: dict[str, Callable[..., Any]] = {tool.name: _make_function(tool) for tool in task.tools}
        self.texts: list[str] = []
        self.streamed: list[str] | None = [] if task.stream else None
        self.annotations: list[dict[str, Any]] | None = None
        self.refusal: str | None = None
        self.reasoning: list[str] | None = None
        self.usage: dict[str, int] | None = None
        self.interruptions: list[str] | None = [] if task.approvals else None
        self.error: dict[str, Any] | None = None
        self.cut: str | None = None
        self.incomplete: list[str] = []
        self._answers = list(task.approvals)
        self._open: list[Any] = []

    async def say(self, prompt: str) -> str:
        """Send a prompt and return the final answer."""
        raise NotImplementedError(f"{type(self).__name__} has no `say`: see `ClientSession`")

    def closing(self, client: Client) -> Client:
        """Register a client to be closed after the last prompt by awaiting its `close`; return it."""
        self._open.append(client)
        return client

    async def close(self) -> None:
        """Close all registered clients."""
        for client in self._open:
            await client.close()

    @property
    def replays(self) -> bool:
        """Whether the client sends all items with each request."""
        return self.task.state in ("replay", "stateless")

    @property
    def connection(self) -> dict[str, Any]:
        """The arguments with which a client of the `openai` package reaches the API."""
        own: dict[str, Any] = {"base_url": self.task.base_url, "api_key": self.task.api_key}
        return own if self.task.timeout is None else {**own, "timeout": self.task.timeout}

    @property
    def stateless(self) -> dict[str, Any]:
        """The members of a `stateless` request: `store` false, and encrypted reasoning for models that reason."""
        if self.task.state != "stateless":
            return {}
        return {"store": False, **({"include": [SEALED]} if self.task.model.startswith(("gpt-5", "gpt-6")) else {})}

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The agents of the task, or a single one with its instructions and tools."""
        names = tuple(tool.name for tool in self.task.tools)
        return self.task.agents or (Agent("assistant", self.task.instructions, names),)

    def tools_of(self, agent: Agent) -> list[Tool]:
        """List the tools of an agent."""
        return [tool for tool in self.task.tools if tool.name in agent.tools]

    def shorten(self, messages: Sequence[Any]) -> list[Any]:
        """Return the last messages of a history, as many as the task keeps."""
        return list(messages)[-(self.task.keep_last or 0) :]

    @property
    def function_tools(self) -> list[dict[str, Any]]:
        """The task's tools in the form of a request."""
        return [_as_sent(tool) for tool in self.task.tools]

    def run_function(self, name: str, arguments: str) -> str:
        """Run a function, for clients whose users run the tools; return its output, or its exception as text."""
        try:
            returned = self.functions[name](**json.loads(arguments or "{}"))
        except Exception as error:
            return f"error: {type(error).__name__}: {error}"
        return returned if isinstance(returned, str) else json.dumps(returned)

    def run_custom(self, name: str, text: str) -> str:
        """Run a custom tool and return its output, or its exception as text."""
        try:
            return str(run_tool(next(tool for tool in self.task.tools if tool.name == name), text))
        except Exception as error:
            return f"error: {type(error).__name__}: {error}"

    def add_delta(self, text: str) -> None:
        """Add text from the stream."""
        if self.streamed is not None:
            self.streamed[-1] += text

    def read_parts(self, parts: Iterable[Any]) -> str:
        """Return the text of message parts from the `openai` package; store their annotations and refusal."""
        every = list(parts)
        self.annotations = [dict(note) for part in every for note in getattr(part, "annotations", None) or ()]
        self.refusal = next((part.refusal for part in every if part.type == "refusal"), None)
        return "".join(part.text for part in every if part.type == "output_text")

    def add_usage(self, usage: Any, names: tuple[str, str, str] = _COUNTS) -> None:
        """Add the usage of a request, whose input, output and total counts have these names."""
        if usage is not None:
            so_far = self.usage or dict.fromkeys(_COUNTS, 0)
            read = usage.get if isinstance(usage, dict) else lambda name: getattr(usage, name, 0)
            own = [read(name) or 0 for name in names]
            self.usage = {name: so_far[name] + count for name, count in zip(_COUNTS, own, strict=True)}

    def read_ending(self, response: Any) -> None:
        """Store the usage and ending of a response from the `openai` package."""
        self.add_usage(getattr(response, "usage", None))
        status, error = getattr(response, "status", None), getattr(response, "error", None)
        is_cut = status == "incomplete"
        self.cut = str(getattr(response.incomplete_details, "reason", None) or "incomplete") if is_cut else None
        if status in ("failed", "cancelled"):  # a cancelled response has no error
            own = {"type": error.code, "message": error.message} if error else {}
            self.error = {"type": status, "message": f"the response was {status}"} | own

    def approves(self, tool: str) -> bool:
        """Answer, as the user, whether a tool may run: by the next answer for this tool, or no if there is none."""
        self.interruptions = [*(self.interruptions or ()), tool]
        answer = next((candidate for candidate in self._answers if candidate.tool == tool), None)
        if answer:
            self._answers.remove(answer)
        return bool(answer and answer.approve)

    def outcome(self) -> Outcome:
        """Return all that was shown as an outcome."""
        named = ("texts", "streamed", "annotations", "refusal", "reasoning", "usage", "interruptions", "error")
        return Outcome(incomplete=self.incomplete, **{name: getattr(self, name) for name in named})


def _as_sent(tool: Tool) -> dict[str, Any]:
    own: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if tool.custom:
        return {"type": "custom", **own}
    own |= {"type": "function", "strict": False, "parameters": dict(tool.parameters)}
    return {**own, "defer_loading": True} if tool.deferred else own


class SessionAdapter(Adapter):
    """An adapter that creates a `session` for each task and sends its prompts, until one ends in an error."""

    session: ClassVar[type[ClientSession]]

    def __init__(self) -> None:
        if self.package == "openai":
            import_openai("the adapter")  # with an old release every case would end in a crash

    async def run(self, task: Task) -> Outcome:
        """Send each prompt; an exception raised by the adapter's own code is a crash."""
        session = self.session(task)
        try:
            for prompt in task.prompts:
                if session.streamed is not None:
                    session.streamed.append("")
                session.cut = None
                session.texts.append(await session.say(prompt))
                session.incomplete.append(session.cut or "")
                if session.error:
                    break
        except Exception as error:
            if _origin(error) == type(session).__module__:
                raise
            session.error = describe_error(error)
        finally:
            await session.close()
        return session.outcome()


def _origin(error: Exception) -> str:
    """Return the name of the module that raised an exception."""
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__)]
    return modules[-1] if modules else ""


_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict[str, Any]}


class ToolFailedError(Exception):
    """Raised by a tool that a case makes fail."""


def _make_function(tool: Tool) -> Callable[..., Any]:
    required = tool.parameters.get("required", ())
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=_annotation(schema),
            **({} if name in required else {"default": None}),
        )
        for name, schema in tool.parameters.get("properties", {}).items()
    ]

    def function(**arguments: Any) -> Any:
        return run_tool(tool, arguments)

    function.__name__ = function.__qualname__ = tool.name
    function.__doc__ = tool.description or f"Run {tool.name}."
    function.__annotations__ = {**{parameter.name: parameter.annotation for parameter in parameters}, "return": str}
    vars(function)["__signature__"] = inspect.Signature(parameters, return_annotation=str)
    return function


def _annotation(schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "array":
        return GenericAlias(list, _annotation(schema.get("items", {})))
    return _TYPES.get(schema.get("type", ""), str)


def run_tool(tool: Tool, arguments: Any) -> Any:
    """Run a tool on the tool server. ToolFailedError if the case makes it fail."""
    asked = Request(tool.url, json.dumps(arguments).encode(), {"content-type": "application/json"})
    try:
        with urlopen(asked, timeout=60) as answer:
            return json.loads(answer.read())
    except HTTPError as refused:
        raise ToolFailedError(refused.read().decode()) from None
