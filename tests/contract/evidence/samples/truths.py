"""What the schema's refusals say of the value at their `param`, and whether it is so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from harness.contract.phrasing import describe_actual, format_path
from harness.contract.rule import Rule
from harness.core.exchange import Json
from tests.contract.evidence.samples.mutate import KEYS, Mutation, places

Said = Mapping[str, str]


def key_of(value: Any, param: str) -> Any:
    """What an enum error quotes: the value, of an item or a part its key, of anything that is no string nothing."""
    if isinstance(value, dict) and not param.endswith(KEYS):
        stated = value["type"] if value.get("type", "message") != "message" else value.get("role", "")
    else:
        stated = value
    return stated if isinstance(stated, str) else ""


def kinds_of(value: Any) -> list[str]:
    """Return what a value may be called: 5.0 is a decimal number to some and an integer to JSON Schema."""
    is_whole = isinstance(value, float) and value.is_integer()
    return [describe_actual(value), *(["an integer"] if is_whole else [])]


def contradicts(expected: str, kind: str) -> bool:
    """Return whether a sentence says it got what it expected."""
    alternatives = ["array"] if expected.startswith("an array") else re.split(", or |, | or ", expected)
    bare = [re.sub("^(?:one of |an? )+", "", alternative) for alternative in alternatives]
    types = {"string" if type.startswith("'") else type.split()[0] for type in bare}
    got = kind.split()[-1] if kind != "a decimal number" else "decimal"
    return got in types or (got == "integer" and "decimal" in types)


TRUTHS: tuple[tuple[str, Callable[[Any, Said], bool]], ...] = (
    (r"Unknown parameter: '{param}'\.(?: Did you mean .*\?)?", lambda value, stated: True),
    (
        r"Invalid type for '{param}': expected (?P<expected>.*), but got (?P<kind>[a-z ]+) instead\.",
        lambda value, stated: stated["kind"] in kinds_of(value) and not contradicts(stated["expected"], stated["kind"]),
    ),
    (
        r"Invalid value: '(?P<value>.*)'\. Supported values are: (?P<values>'.*')\.",
        lambda value, stated: (
            stated["value"] == key_of(value, stated["param"]) and f"'{stated['value']}'" not in stated["values"]
        ),
    ),
    (
        r"Invalid '{param}': (?:string|array) too long\. Expected an? (?:string|array) with maximum length (?P<limit>\d+), "
        r"but got an? (?:string|array) with length (?P<length>\d+) instead\.",
        lambda value, stated: len(value) == int(stated["length"]) > int(stated["limit"]),
    ),
    (
        r"Invalid '{param}': (?:string|array) too short\. Expected an? (?:string|array) with minimum length (?P<limit>\d+), "
        r"but got an? (?:string|array) with length (?P<length>\d+) instead\.",
        lambda value, stated: len(value) == int(stated["length"]) < int(stated["limit"]),
    ),
    (
        r"Unsupported context_management type: '(?P<kind>.*)'\.",
        lambda value, stated: stated["kind"] in [managed["type"] for managed in value],
    ),
    (
        r"Invalid '{param}': empty (string|array)\. Expected an? \1 with minimum length \d+, but got an empty \1 instead\.",
        lambda value, stated: value in ("", []),
    ),
    (
        r"Invalid '{param}': (?P<kind>integer|decimal) below minimum value\. Expected a value >= (?P<limit>\S+), but got "
        r"(?P<value>\S+) instead\.",
        lambda value, stated: value == float(stated["value"]) < float(stated["limit"]),
    ),
    (
        r"Invalid '{param}': (?P<kind>integer|decimal) above maximum value\. Expected a value <= (?P<limit>\S+), but got "
        r"(?P<value>\S+) instead\.",
        lambda value, stated: value == float(stated["value"]) > float(stated["limit"]),
    ),
    (
        r"Invalid '{param}': string does not match pattern\. Expected a string that matches the pattern '(?P<pattern>.*)'\.",
        lambda value, stated: not re.fullmatch(stated["pattern"].removeprefix("^").removesuffix("$"), value),
    ),
    (
        r"Invalid '{param}': '(?P<value>.*)'\. Expected an ID that begins with '(?P<prefix>\w+)'\.",
        lambda value, stated: value == stated["value"] and not value.startswith(stated["prefix"]),
    ),
    (
        r"Invalid '{param}': '(?P<value>.*)'\. Expected an ID that contains letters, numbers, underscores, or dashes, but "
        r"this value contained additional characters\.",
        lambda value, stated: value == stated["value"] and not re.fullmatch(r"[A-Za-z0-9_-]*[A-Za-z0-9-]", value),
    ),
    (
        r"Invalid '{param}': too many properties\. Expected an object with at most (?P<limit>\d+) properties, but got an "
        r"object with (?P<length>\d+) properties instead\.",
        lambda value, stated: len(value) == int(stated["length"]) > int(stated["limit"]),
    ),
    (
        r"Unsupported {param} type: '(?P<value>.*)'\.",
        lambda value, stated: (
            stated["value"] != "compaction" and stated["value"] in [managed.get("type") for managed in value]
        ),
    ),
    (
        r"Invalid property name in '(?P<at>[\w.[\]]+)': '.*' is too long\. Expected a string with maximum length "
        r"(?P<limit>\d+), but got a string with length (?P<length>\d+) instead\.",
        lambda value, stated: (
            len(stated["param"].removeprefix(f"{stated['at']}.")) == int(stated["length"]) > int(stated["limit"])
        ),
    ),
)
"""Every sentence of the schema's refusals (`{param}` is where), and whether it is so of the value that stands there."""


def is_true(error: Json, body: Json) -> bool:
    """Return whether what an error says of the value at its `param` is so; False for words that are not known here."""
    values, param = {format_path(path): value for path, value in places(body)}, error["param"]
    if error["message"] == f"Missing required parameter: '{param}'.":
        absent = param not in values or (values[param] is None and param in body)  # a null at the top counts as absent
        return absent and isinstance(values[param.rpartition(".")[0]], dict)
    if error["message"] == f"Invalid type for '{param}': expected a string, but got an object instead.":
        return isinstance(values[param], dict) or (values[param] is None and param in ("model", "input"))
    for words, truth in TRUTHS:
        stated = re.fullmatch(words.replace("{param}", re.escape(param)), error["message"], re.DOTALL)
        if stated and param in values:
            return truth(values[param], {"param": param, **stated.groupdict()})
    return False


ALSO: dict[str, set[str]] = {
    "missing_required_parameter": {"prompt"},
    "input_empty": {"input", "previous_response_id", "conversation", "prompt"},
    "stream_options_without_stream": {"stream"},
    "tool_choice_without_tools": {"tools"},
    "tool_choice_not_found": {"tools"},
    "context_length_exceeded": {"truncation"},
    "context_management_type": {"context_management"},
    "sampling_unsupported": {"reasoning"},
    "logprobs_unsupported": {"reasoning"},
    "deferred_without_search": {"input", "prompt"},
    "search_without_deferred": {"input", "prompt"},
    "program_output_not_json": {"tools", "previous_response_id", "conversation"},
    "call_without_namespace": {"tools", "prompt", "previous_response_id", "conversation"},
}
"""Members that can make a rule speak although they are neither its `param` nor what it asks for by `when`."""
OF_THE_MODEL = ("research", "sampling", "effort", "capability", "hosted", "limits")
"""Areas of rules about what the model can do: another model is another judgement."""


def is_place_of(mutation: Mutation, rule: Rule, param: str | None) -> bool:
    """Whether `param` names what was changed: it, something inside it, what its key asks for; else what the rule says."""
    if mutation.path[0] in ALSO.get(rule.id, ()):
        return True
    if rule.id == "moved_parameter":
        return param is None and mutation.how == "add a member"
    if rule.check:
        members = {*re.findall(r"^\w+", param or ""), *(name.removesuffix("[]") for name in rule.when)}
        return mutation.path[0] in members | ({"model"} if rule.area in OF_THE_MODEL else set())
    assert param is not None
    if param == rule.error.param:  # one name wherever the fault is, as `context_management`
        return param == mutation.path[0]
    parent = format_path(mutation.path[:-1])
    if mutation.path[-1] in KEYS and parent:
        return param == parent or inside(param, parent)
    if rule.id == "object_above_max_properties" and mutation.how == "add a member":
        return param == parent
    return param == mutation.at or inside(param, mutation.at)


def inside(param: str, at: str) -> bool:
    return param.startswith((f"{at}.", f"{at}["))
