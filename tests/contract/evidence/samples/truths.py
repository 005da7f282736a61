"""Whether a refusal speaks of what is wrong: of the place that was changed, of a type that is not the one expected."""

from __future__ import annotations

import re

from harness.contract.phrasing import format_path
from harness.contract.rule import Rule
from tests.contract.evidence.samples.mutate import KEYS, Mutation


def contradicts(expected: str, kind: str) -> bool:
    """Return whether a sentence says it got what it expected."""
    alternatives = ["array"] if expected.startswith("an array") else re.split(", or |, | or ", expected)
    bare = [re.sub("^(?:one of |an? )+", "", alternative) for alternative in alternatives]
    types = {"string" if type.startswith("'") else type.split()[0] for type in bare}
    got = kind.split()[-1] if kind != "a decimal number" else "decimal"
    return got in types or (got == "integer" and "decimal" in types)


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
