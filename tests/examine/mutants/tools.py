"""Mutants of the area `tools`."""

import json
from typing import Any

from harness.core.exchange import Json
from harness.examine.session import run_tool
from tests.examine.mutants.mutant import R, dies, gives_up, mutant

CALLS = ("function_call", "custom_tool_call")


def calls_of(output: list[Json]) -> list[Json]:
    return [item for item in output if item["type"] in CALLS]


def run_unique(self: R, output: list[Json]) -> list[Json]:
    """Equal calls run once."""
    known: dict[str, str] = {}
    new = []
    for item in calls_of(output):
        key = item["name"] + item.get("arguments", item.get("input"))
        known.setdefault(key, "") or known.update({key: self.output_of(item)})
        new.append({"type": f"{item['type']}_output", "call_id": item["call_id"], "output": known[key]})
    return new


def run_last_of_each(self: R, output: list[Json]) -> list[Json]:
    """Of two calls of one function with other arguments only the last runs."""
    calls = calls_of(output)
    if len(calls) != 2 or len({item["name"] for item in calls}) == 2 or calls[0]["arguments"] == calls[1]["arguments"]:
        return R.react(self, output)
    new = R.react(self, calls[1:])
    return [{**new[0], "call_id": item["call_id"]} for item in calls]


def count_texts(self: R, response: Json) -> None:
    """The usage is that of the responses without calls."""
    R.note(self, {**response, "usage": None} if calls_of(response["output"]) else response)


def stop_at(place: int) -> Any:
    def react(self: R, output: list[Json]) -> list[Json]:
        is_text = bool(output) and len(output) > 1 and output[place]["type"] == "message"
        return [] if is_text and not self.shown["texts"] else R.react(self, output)

    return react


def most_rounds(limit: int) -> Any:
    def react(self: R, output: list[Json]) -> list[Json]:
        self.rounds = getattr(self, "rounds", 0) + bool(calls_of(output))  # type: ignore[attr-defined]
        too_many = self.rounds > limit and len(calls_of(output)) == 1  # type: ignore[attr-defined]
        return gives_up("too many calls") if too_many else R.react(self, output)  # type: ignore[no-any-return]

    return react


def forget_many(self: R, output: list[Json]) -> list[Json]:
    """Outputs that are taken for ones that were sent before."""
    new = R.react(self, output)
    return new[:-1] if len(new) > 5 else new


def remember_results(self: R, tool: Any, arguments: Any) -> str:
    """Results are kept for the whole session, though not within one prompt."""
    kept: dict[str, tuple[int, str]] = self.__dict__.setdefault("kept", {})
    key, prompt = f"{tool.name}{arguments}", len(self.shown["texts"])
    if key in kept and kept[key][0] < prompt:
        return kept[key][1]
    kept[key] = prompt, R.execute(self, tool, arguments)
    return kept[key][1]


def none_in_last_prompt(self: R, output: list[Json]) -> list[Json]:
    is_last = len(self.task.prompts) > 1 and len(self.shown["texts"]) == len(self.task.prompts) - 1
    return [] if is_last and output[0]["type"] == "message" else R.react(self, output)


def runs_broken(self: R, arguments: str) -> Any:
    try:
        return R.parse_arguments(self, arguments)
    except ValueError:
        return {}


def dies_without_city(self: R, tool: Any, arguments: Any) -> str:
    return R.execute(self, tool, arguments) + str("" if tool.name != "get_weather" else arguments["city"])[:0]


def as_text(value: Any) -> Any:
    return {name: str(member) for name, member in value.items()} if isinstance(value, dict) else value


def retry_tool(self: R, tool: Any, arguments: Any) -> str:
    result = R.execute(self, tool, arguments)
    return R.execute(self, tool, arguments) if result.startswith("error") and len(self.task.tools) == 1 else result


def first_failure_ends(self: R, output: list[Json]) -> list[Json]:
    new = R.react(self, output)
    kept = [item for item in new if not item["output"].startswith("error: the station")]
    return kept if len(new) > 1 else new


def unanswered_unknown(alone: bool) -> Any:
    def react(self: R, output: list[Json]) -> list[Json]:
        new = R.react(self, output)
        kept = [item for item in new if not item["output"].startswith("error: there is no tool")]
        return kept if (len(new) == 1) is alone else new

    return react


def custom_arguments(self: R, call: Json) -> str:
    """The text of a custom tool is parsed where it is JSON of an object."""
    text = call.get("input", "")
    if text.startswith("{"):
        tool = next(tool for tool in self.task.tools if tool.name == call["name"])
        return str(run_tool(tool, json.loads(text)))
    return R.output_of(self, call)


def strip_input(self: R, call: Json) -> str:
    return R.output_of(self, {**call, "input": call["input"].strip()} if "input" in call else call)


def one_kind(self: R, output: list[Json]) -> list[Json]:
    new = R.react(self, output)
    kinds = {item["type"] for item in new}
    return [{**item, "type": "function_call_output"} for item in new] if len(kinds) > 1 else new


mutant("tools/same-tool-twice", react=run_last_of_each)
mutant("tools/equal-calls", react=run_unique)
mutant("tools/one-after-another", react=most_rounds(2))
mutant("tools/usage", note=count_texts)
mutant("tools/text-beside-a-call", react=stop_at(0))
mutant("tools/text-after-a-call", react=stop_at(-1))
mutant("tools/turns-of-many-calls", react=forget_many)
mutant("tools/call-in-each-prompt", execute=remember_results)
mutant("tools/call-in-the-last-turn", react=none_in_last_prompt)
mutant(
    "tools/no-arguments",
    parse_arguments=lambda self, arguments: R.parse_arguments(self, arguments) or gives_up("no arguments"),
)
mutant("tools/arguments-no-json", parse_arguments=runs_broken)
mutant("tools/arguments-off-schema", execute=dies_without_city)
mutant("tools/arguments-of-each-type", execute=lambda self, tool, given: R.execute(self, tool, as_text(given)))
mutant(
    "tools/arguments-in-small-deltas",
    "stream,replay",
    parse_arguments=lambda self, arguments: R.parse_arguments(self, arguments.replace("\\u", "u")),
)
mutant(
    "tools/long-arguments",
    parse_arguments=lambda self, arguments: (
        R.parse_arguments(self, arguments) if len(arguments) < 10_000 else gives_up("too long")
    ),
)
mutant("tools/empty-result", execute=lambda self, tool, given: R.execute(self, tool, given) or gives_up("no result"))
mutant(
    "tools/structured-result",
    execute=lambda self, tool, given: (
        "[object Object]" if isinstance(tool.returns, dict) else R.execute(self, tool, given)
    ),
)
mutant("tools/long-result", execute=lambda self, tool, given: R.execute(self, tool, given)[:5000])
mutant("tools/odd-result", execute=lambda self, tool, given: R.execute(self, tool, given).replace("\u200d", ""))
mutant("tools/raises", execute=retry_tool)
mutant("tools/one-of-two-raises", react=first_failure_ends)
mutant("tools/unknown-tool", react=unanswered_unknown(alone=True))
mutant("tools/unknown-beside-known", react=unanswered_unknown(alone=False))
mutant("tools/custom", output_of=strip_input)
mutant("tools/custom-like-json", output_of=custom_arguments)
mutant("tools/custom-beside-function", react=one_kind)
dies("tools/deferred", lambda response: any(item["type"] == "tool_search_call" for item in response["output"]))
