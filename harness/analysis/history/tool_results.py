"""Compares the outputs in a journal with what the recorded tools returned.

A framework may wrap, shorten or print a result, so an output matches if it contains the result or a part of it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from harness.analysis.history.items import answered_id, client_call_id
from harness.analysis.history.text_index import letters_of
from harness.core.exchange import Exchange, Json, ToolRun, ToolRuns
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.text import quote
from harness.items.transcript import input_items

MOST_VALUES = 1000
"""The maximum number of values of a result that are compared, counting objects and lists."""
SHORTEST_LEAF = 4
"""The fewest letters and digits by which a value identifies a part of a result in an output."""

_CallContent = tuple[str, str]


class ToolResults:
    """Finds the outputs in a journal that differ from what their tool returned.

    `unexecuted` are the ids of the answered calls for which a recorded tool was not executed, `confirmed` those with an
    output that shows what the tool returned.
    """

    def __init__(self, exchanges: Sequence[Exchange] = (), runs: ToolRuns | None = None) -> None:
        self._runs: dict[_CallContent, list[ToolRun]] = defaultdict(list)
        for run in runs.finished if runs else ():
            self._runs[run.name, _arguments_text(run.arguments)].append(run)
        self._returned: dict[str, ToolRun] = {}
        self.unexecuted: set[str] = set()
        self.confirmed: set[str] = set()
        if names := runs.names | {run.name for run in runs.finished} if runs else set():
            self._compare(exchanges, names)

    def find_replaced(self, call_id: str, output: str) -> ToolRun | None:
        """Find the execution whose result the model never received because this output replaced it, if any."""
        run = self._returned.get(call_id)
        return run if run and not is_result(output, run.returned) else None

    def _compare(self, exchanges: Sequence[Exchange], names: Set[str]) -> None:
        """Assign to each answered call whose result no output shows an execution that is left over."""
        calls, outputs = dict[str, Json](), defaultdict[str, list[str]](list)
        for item in _items_of(exchanges):
            if id := client_call_id(item):
                calls.setdefault(id, item)
            elif id := answered_id(item):
                outputs[id].append(output_text(item))
        # Calls whose output shows a result use up an execution first; what is left can explain the others.
        left = {content: len(runs) for content, runs in self._runs.items()}
        missing: list[tuple[str, _CallContent]] = []
        for id, texts in outputs.items():
            content = _content_of(calls.get(id, {}))
            runs = self._runs.get(content, ())
            # How a failed tool is reported to the model is the client's choice.
            if any(run.failed or is_result(text, run.returned) for run in runs for text in set(texts)):
                left[content] -= 1
                self.confirmed.add(id)
            elif content[0] in names:
                missing.append((id, content))
        for id, content in missing:
            if left.get(content, 0) > 0:
                left[content] -= 1
                self._returned[id] = self._runs[content][-1]
            else:
                self.unexecuted.add(id)


def _items_of(exchanges: Sequence[Exchange]) -> Iterator[Json]:
    for exchange in exchanges:
        yield from objects_in(as_object(exchange.answer.body).get("output"))
        if isinstance(exchange.request.body, dict):
            yield from objects_in(input_items(exchange.request.body))


def _content_of(call: Json) -> _CallContent:
    try:
        arguments = json.loads(as_string(call.get("arguments")) or "{}")
    except ValueError:
        arguments = None
    return as_string(call.get("name")), _arguments_text(arguments)


def _arguments_text(arguments: Any) -> str:
    """Render arguments as a string that does not depend on whether a framework parsed their values."""
    return " ".join(sorted(letters_of(leaf) for leaf in _leaves(arguments)))


def is_result(output: str, returned: Any) -> bool:
    """Return whether an output contains what a tool returned, in whole or in part."""
    shown = letters_of(output)
    leaves = [letters for leaf in _leaves(returned) if (letters := letters_of(leaf))]
    if not leaves or all(leaf in shown for leaf in leaves):
        return True
    # A client may shorten a result, or send the one member that matters; short numbers would match by chance.
    return bool(shown) and any(shown in leaf or (len(leaf) >= SHORTEST_LEAF and leaf in shown) for leaf in leaves)


def _leaves(value: Any) -> list[str]:
    """List the strings, numbers and booleans in a result; empty for an object that cannot be read."""
    found: list[str] = []
    waiting = [value]
    for _ in range(MOST_VALUES):
        if not waiting:
            break
        one = waiting.pop()
        if isinstance(one, Enum):
            waiting.append(one.value)
        elif isinstance(one, str | int | float):
            found.append(str(one))
        else:
            waiting += _members(one)
    return found


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in fields(value)]
    return list(vars(value).values()) if hasattr(type(value), "model_fields") else ()


def describe_result(returned: Any) -> str:
    """Describe what a tool returned, in a few words."""
    leaves = _leaves(returned)
    return quote(" ".join(leaves[::-1] if len(leaves) > 1 else leaves))


def output_text(item: Json) -> str:
    """Return the text of an output: the text of its parts, else its JSON."""
    output = item.get("output")
    parts = list(objects_in(output))
    if parts and all(part.get("type") in ("input_text", "output_text") for part in parts):
        return "".join(as_string(part.get("text")) for part in parts)
    return output if isinstance(output, str) else json.dumps(output, sort_keys=True)
