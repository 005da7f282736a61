"""The parameters of a request: for each its echo in a response, the first day of the echo, the default, examples.

The schema of a parameter is in `schemas/`, the rules about it are in `harness.contract.rules`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from harness.answers.echoed_values import (
    echo_cache_options,
    echo_moderation,
    echo_prompt,
    echo_reasoning,
    echo_text,
    echo_tools,
    echo_unchanged,
    names_summary_twice,
)
from harness.api.models import Model
from harness.core.exchange import Json
from harness.core.json_values import as_object, without_nulls
from harness.core.registry import Registry

NO_DEFAULT: Any = object()
"""The default of a parameter that a response only shows if the request has it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A member of a request's body.

    `echo` converts its value to the response's; it is None if the response does not show it, or if `echo_request` needs
    more than the value. `default` is the value in a response to a request without it, or a function of the model's
    family. `decided_by` lists what else may decide the default: the account, the model, a prompt template or an agent.
    `since` is the day (YYYY-MM-DD) from which every recorded response has it. `examples` are bodies by name.
    """

    name: str
    echo: Callable[[Any], Any] | None = echo_unchanged
    default: Any = NO_DEFAULT
    decided_by: tuple[str, ...] = ()
    since: str = ""
    examples: Mapping[str, Json] = field(default_factory=dict)

    def default_for(self, family: Model) -> Any:
        """Return the value in a response of this family to a request without the parameter."""
        return self.default(family) if callable(self.default) else self.default


ACCOUNT, MODEL, TEMPLATE = "account", "model", "template"

PARAMETERS: Registry[Parameter] = Registry("parameter")
"""All parameters by name, in the order in which a server is asked about them."""


def parameter(
    name: str,
    *,
    echo: Callable[[Any], Any] | None = echo_unchanged,
    default: Any = NO_DEFAULT,
    decided_by: Sequence[str] = (),
    since: str = "",
    example: Json | None = None,
    examples: Mapping[str, Json] | None = None,
) -> None:
    """Register a parameter; `example` is an example under the parameter's name."""
    shown = {name: example} if example is not None else examples or {}
    PARAMETERS.add(name, Parameter(name, echo, default, tuple(decided_by), since, shown))


parameter("instructions", default=None, decided_by=[TEMPLATE], example={"instructions": "Be brief."})
# Null members are accepted, and assumed not to be stored.
parameter("metadata", echo=without_nulls, default={}, example={"metadata": {"run": "1"}})
parameter(
    "temperature", echo=float, default=1.0, decided_by=[MODEL, TEMPLATE], example={"temperature": 0.5, "top_p": 0.9}
)
parameter("top_p", echo=float, default=lambda family: family.top_p, decided_by=[MODEL, TEMPLATE])
parameter("frequency_penalty", echo=float, default=0.0, since="2026-02-14")
parameter("presence_penalty", echo=float, default=0.0, since="2026-02-14")
parameter("max_output_tokens", default=None, decided_by=[TEMPLATE], example={"max_output_tokens": 64})
parameter("truncation", default="disabled", decided_by=[TEMPLATE], example={"truncation": "auto"})
parameter("parallel_tool_calls", default=True, decided_by=[TEMPLATE], example={"parallel_tool_calls": False})
parameter("store", default=True, decided_by=[ACCOUNT], example={"store": False})
parameter("user", default=None, example={"user": "u", "safety_identifier": "s", "prompt_cache_key": "k"})
parameter("safety_identifier", default=None, since="2025-07-22")
parameter("prompt_cache_key", default=None, since="2025-07-22")
parameter(
    "prompt_cache_retention",
    default=lambda family: family.retention,
    decided_by=[ACCOUNT, MODEL, TEMPLATE],
    since="2025-11-01",
)
parameter("prompt_cache_options", echo=echo_cache_options)
parameter("service_tier", default="auto", decided_by=[ACCOUNT], since="2025-04-25", example={"service_tier": "auto"})
parameter(
    "text",
    echo=echo_text,
    default=lambda family: echo_text({}),
    decided_by=[MODEL, TEMPLATE],
    examples={
        "text.format": {"text": {"format": {"type": "text"}}},
        "null members": {"instructions": None, "tools": None, "previous_response_id": None, "temperature": None},
        "text.verbosity": {"text": {"verbosity": "medium"}},
    },
)
parameter(
    "top_logprobs",
    default=0,
    since="2025-06-27",
    example={"include": ["message.output_text.logprobs"], "top_logprobs": 2},
)
parameter("multi_agent", echo=None)
parameter("max_tool_calls", default=None, since="2025-06-24", example={"max_tool_calls": 3})
parameter("stream_options", echo=None, example={"stream": True, "stream_options": {"include_obfuscation": False}})
parameter(
    "include",
    echo=None,
    examples={
        "include": {"include": ["message.output_text.logprobs"]},
        "include of tools": {"include": ["file_search_call.results", "web_search_call.action.sources"]},
    },
)
parameter("access_programs", default=None, decided_by=[ACCOUNT], since="2026-09-04")
parameter("background", default=False, since="2025-06-03")
parameter("moderation", echo=echo_moderation, default=None, since="2026-04-23")
parameter("previous_response_id", default=None)
parameter("prompt", echo=echo_prompt)
parameter("reasoning", echo=None, default=lambda family: echo_reasoning(family, {}), decided_by=[MODEL, TEMPLATE])
parameter("tool_choice", default="auto", decided_by=[TEMPLATE])
parameter("tools", echo=None, default=[], decided_by=[TEMPLATE])


def echo_request(body: Json, family: Model, items: Sequence[Json]) -> Json:
    """Return the members of a response that echo its request; `items` are the resolved transcript."""
    echoed = {
        name: entry.echo(value)
        for name, value in body.items()
        if value is not None and (entry := PARAMETERS.get(name)) and entry.echo
    }
    if tools := echo_tools(body, items):
        echoed["tools"] = tools
    reasoning, shows_first_name = body.get("reasoning"), names_summary_twice(family, echoed.get("tools") or ())
    if reasoning or shows_first_name:
        echoed["reasoning"] = echo_reasoning(family, reasoning or {})
    if shows_first_name:
        echoed["reasoning"]["generate_summary"] = (reasoning or {}).get("generate_summary")
    return echoed


@lru_cache(maxsize=64)
def default_parameters(family: Model) -> Json:
    """Return the defaults of all parameters for a family; the object is shared and must not be changed."""
    return {name: entry.default_for(family) for name, entry in PARAMETERS.items() if entry.default is not NO_DEFAULT}


def parameters_decided_by(decider: str) -> frozenset[str]:
    """Return the parameters whose default the account, the model, or a template or an agent may decide."""
    return frozenset(name for name, entry in PARAMETERS.items() if decider in entry.decided_by)


RESULT_SINCE: Mapping[str, str] = {"billing": "2025-09-18", "completed_at": "2026-02-14", "tool_usage": "2026-06-26"}
"""The day from which every recorded response has a member that is not a parameter."""
IN_MEMORY_SINCE = "2026-04-18"
"""The day from which an answer has the retention of its cache; the day before it was null for every existing model."""
INNER_SINCE: Mapping[str, Mapping[str, str]] = {
    "reasoning": {"context": "2026-05-28", "mode": "2026-06-30"},
    "text": {"verbosity": "2025-08-07"},
}
"""The first recorded day of a member of an echoed object."""
ITEM_SINCE: Mapping[str, Mapping[str, str]] = {
    "output_text": {"logprobs": "2025-06-24"},
    "response.output_text.delta": {"logprobs": "2025-06-24"},
    "response.output_text.done": {"logprobs": "2025-06-24"},
    "mcp_call": {"status": "2025-10-01"},
}
"""The first day of a member of an item, part or event, by its type: every recording since has it, none before."""
NEWEST_ITEM_CHANGE = max(day for members in ITEM_SINCE.values() for day in members.values())
"""The day since which items have their present form."""
NEWEST_CHANGE = max(
    IN_MEMORY_SINCE,
    *(entry.since for entry in PARAMETERS.values()),
    *RESULT_SINCE.values(),
    *(day for members in INNER_SINCE.values() for day in members.values()),
)
"""The day since which answers have their present form, except for models whose defaults changed later."""


def apply_day(response: Json, body: Json, family: Model, day: str) -> None:
    """Change the initial response in place to its form on a day (YYYY-MM-DD)."""
    # Nearly all Worlds live on the newest day.
    if day >= NEWEST_CHANGE and day >= family.retention_since:
        return
    if body.get("prompt_cache_retention") is None:
        response["prompt_cache_retention"] = default_retention(family, day)
    for name, entry in PARAMETERS.items():
        # A response repeats what its request says, however early the day.
        if day < entry.since and body.get(name) is None:
            response.pop(name, None)
    for name, since in RESULT_SINCE.items():
        if day < since:
            response.pop(name, None)
    for name, members in INNER_SINCE.items():
        asked, shown = body.get(name), response.get(name)
        given = as_object(asked)
        late = {member for member, since in members.items() if day < since and not given.get(member)}
        if late and isinstance(shown, dict):
            response[name] = {member: value for member, value in shown.items() if member not in late}


def default_retention(family: Model, day: str) -> str | None:
    """Return the `prompt_cache_retention` of an answer on this day to a request without it."""
    if day < IN_MEMORY_SINCE:
        return None
    return family.retention if family.retention_since <= day else "in_memory"


def items_of_day(items: Sequence[Json], day: str) -> Sequence[Json]:
    """Omit from items or events the members that were introduced after a day (YYYY-MM-DD), unless they have a value."""
    return items if day >= NEWEST_ITEM_CHANGE else [_omit_later(item, day) for item in items]


def _omit_later(value: Any, day: str) -> Any:
    if isinstance(value, list):
        return [_omit_later(part, day) for part in value]
    if not isinstance(value, dict):
        return value
    members = ITEM_SINCE.get(str(value.get("type")), {})
    # A member with a value from a script stays on any day, except `status`, which was never shown then.
    late = {name for name, since in members.items() if day < since and (name == "status" or not value.get(name))}
    return {name: _omit_later(member, day) for name, member in value.items() if name not in late}
