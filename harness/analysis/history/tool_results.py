"""Compares the outputs in a journal with what the recorded tools returned.

A framework may wrap, shorten or print a result, so an output matches if it contains the result or a part of it.
"""

import json
from collections import Counter, defaultdict
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

_PLAIN = (str, int, float)
_CallContent = tuple[str, str]


class ToolResults:
    """Finds the outputs in a journal that differ from what their tool returned, and runs that no call asked for.

    `unexecuted` are the ids of the answered calls for which a recorded tool was not executed, `confirmed` those with an
    output that shows what the tool returned, `misrun` those that a run with other arguments answers, each with that
    run. `repeated` has the number of runs of each call whose tool ran more often than the model called it, without runs
    that no call can have asked for.
    """

    def __init__(self, exchanges: Sequence[Exchange] = (), runs: ToolRuns | None = None) -> None:
        self._returned: dict[str, ToolRun] = {}
        self.unexecuted: set[str] = set()
        self.confirmed: set[str] = set()
        self.misrun: dict[str, ToolRun] = {}
        self.repeated: dict[str, int] = {}
        if runs and (names := runs.names | {run.name for run in runs.finished}):
            self._compare(_CalledTools(exchanges), runs.finished, names)

    def find_replaced(self, call_id: str, output: str) -> ToolRun | None:
        """Find the execution whose result the model never received because this output replaced it, if any."""
        run = self._returned.get(call_id)
        return run if run and not is_result(output, run.returned) else None

    def _compare(self, called: "_CalledTools", finished: Iterable[ToolRun], names: Set[str]) -> None:
        """Assign an execution that is left over to each answered call whose output shows no result."""
        runs_of = defaultdict[_CallContent | None, list[ToolRun]](list)
        for run in finished:
            runs_of[called.find_content(run)].append(run)
        # Calls whose output shows a result use up an execution first; what is left can explain the others.
        left = {content: len(runs) for content, runs in runs_of.items()}
        missing: list[tuple[str, _CallContent]] = []
        for id, texts in called.outputs.items():
            content = _content_of(called.calls.get(id, {}))
            # How a failed tool is reported to the model is the client's choice.
            if any(
                run.failed or is_result(text, run.returned) for run in runs_of.get(content, ()) for text in {*texts}
            ):
                left[content] -= 1
                self.confirmed.add(id)
            elif content[0] in names:
                missing.append((id, content))
        returned = {content: [run for run in runs if not run.failed] for content, runs in runs_of.items()}
        spare = [(content, run) for content, runs in returned.items() for run in runs[called.counts[content] :]]
        for id, content in missing:
            if left.get(content, 0) > 0:
                left[content] -= 1
                self._returned[id] = runs_of[content][-1]
            elif places := [place for place, (_, run) in enumerate(spare) if called.is_answered_by(id, run)]:
                self.misrun[id] = spare.pop(places[0])[1]
            else:
                self.unexecuted.add(id)
        asked = {content: sum(called.asked_for(run, content) for run in returned[content]) for content, _ in spare}
        for id, call in called.calls.items():
            content = _content_of(call)
            if (count := asked.get(content, 0)) > called.counts[content]:
                self.repeated[id] = count


class _CalledTools:
    """The `calls` of a journal by id, their `outputs`, and how often and in which exchanges each content was called."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self.calls, self.outputs = dict[str, Json](), defaultdict[str, list[str]](list)
        self.counts = Counter[_CallContent | None]()
        self._exchanges = defaultdict[_CallContent | None, list[int]](list)
        seen: set[tuple[str, str]] = set()
        for number, response, item in _items_of(exchanges):
            if id := client_call_id(item):
                # Scripts reuse ids, and a response is retrieved again.
                if (response or id not in self.calls) and (response, id) not in seen:
                    self.counts[_content_of(item)] += 1
                    self._exchanges[_content_of(item)].append(number)
                seen.add((response, id))
                self.calls.setdefault(id, item)
            elif id := answered_id(item):
                self.outputs[id].append(output_text(item))
        self._contents = {_content_of(item): arguments_of(item) for item in self.calls.values()}
        self._by_name: dict[str, list[tuple[_CallContent, Json]]] = defaultdict(list)
        for content, arguments in self._contents.items():
            self._by_name[content[0]].append((content, arguments))

    def find_content(self, run: ToolRun) -> _CallContent | None:
        """Find what was called for a run, even if a framework added or converted arguments; None if nothing was."""
        exact = (run.name, _arguments_text(run.arguments))
        if exact in self._contents and not _other_values(self._contents[exact], run):
            return exact
        agreeing = [
            (len(arguments.keys() & run.arguments.keys()), -len(arguments), content)
            for content, arguments in self._by_name.get(run.name, ())
            if not _other_values(arguments, run)
        ]
        return max(agreeing)[-1] if agreeing else None

    def asked_for(self, run: ToolRun, content: _CallContent | None) -> bool:
        """Return whether a call with this content came when it may have led to a run."""
        return any(run.after < number <= run.until for number in self._exchanges[content])

    def is_answered_by(self, call_id: str, run: ToolRun) -> bool:
        """Return whether an output is the result of a run of its tool with other arguments, and does not say so."""
        call, leaves = self.calls.get(call_id, {}), _leaves(run.returned)
        others = _other_values(arguments_of(call), run) if call.get("name") == run.name and leaves else []
        texts = [text for text in self.outputs[call_id] if others and is_result(text, run.returned)]
        return any(not _names_beside(text, leaves, others) for text in texts)


def _other_values(called: Json, run: ToolRun) -> list[Any]:
    """Return the values of arguments with which a tool ran, but was not called."""
    given = run.bound or run.arguments
    return [given[name] for name, value in called.items() if name in given and _is_other(value, given[name])]


def _names_beside(text: str, leaves: Iterable[str], values: Iterable[Any]) -> bool:
    """Return whether a text names one of the values beside the leaves, as where the user has changed an argument."""
    for leaf in leaves:
        text = text.replace(leaf, "")
    return any(str(value) in text for value in values if not _is_nothing(value))


def _is_other(called: Any, given: Any) -> bool:
    """Return whether two plain values differ in more than type and form; any other value may be a converted one."""
    if _is_nothing(called) or _is_nothing(given):
        return not _is_nothing(called)
    if not (isinstance(called, _PLAIN) and isinstance(given, _PLAIN)):
        return False
    try:
        return float(called) != float(given)
    except (ValueError, OverflowError):
        was, now = letters_of(str(called)), letters_of(str(given))
        return was not in now and now not in was


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)


def _items_of(exchanges: Sequence[Exchange]) -> Iterator[tuple[int, str, Json]]:
    """Yield the items of a journal with the number of the exchange, those of an answer with the id of the response."""
    for exchange in exchanges:
        answer = as_object(exchange.answer.body)
        yield from ((exchange.number, as_string(answer.get("id")), item) for item in objects_in(answer.get("output")))
        if isinstance(exchange.request.body, dict):
            yield from ((exchange.number, "", item) for item in objects_in(input_items(exchange.request.body)))


def _content_of(call: Json) -> _CallContent:
    return as_string(call.get("name")), _arguments_text(arguments_of(call))


def arguments_of(call: Json) -> Json:
    """Return the arguments of a call, parsed; empty if they are no JSON object."""
    try:
        return as_object(json.loads(as_string(call.get("arguments"))))
    except (ValueError, RecursionError):
        return {}


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
