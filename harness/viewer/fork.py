"""A fork of a case: its first requests are kept, and something is changed in those that follow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.analysis.history.items import message_text
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.core.text import show
from harness.viewer.page_data import ShownCall, ShownCase, ShownExchange
from harness.viewer.pool import PoolReader

ChangeBody = Callable[[ShownExchange, Any], Any]
"""Returns the body of a request with a change."""


@dataclass(frozen=True, slots=True)
class Fork:
    """What is kept of a case, and what is changed after that.

    The first `kept` requests stay as they are. Those that follow name another `model`, return other `outputs` (by the name
    of a tool or the id of a call), and say `prompt` in place of what the user said next.
    """

    kept: int
    model: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""

    def __str__(self) -> str:
        changes = [
            *([f"the model is {self.model}"] if self.model else []),
            *(f"{name} returns {show(output)}" for name, output in self.outputs.items()),
            *([f"the user says {show(self.prompt)}"] if self.prompt else []),
        ]
        return f"Forked after request {self.kept}{': ' if changes else '.'}{', '.join(changes)}"


def change_requests(case: ShownCase, fork: Fork) -> dict[int, Any]:
    """Return the bodies of all requests after a fork, by number; ConfigError for a change that changes none of them."""
    pool = PoolReader(case.pool)
    after = [shown for shown in case.exchanges if shown.number > fork.kept]
    if not after:
        raise ConfigError(f"--fork {fork.kept}: nothing follows: {case.row.name} has {len(case.exchanges)} requests.")
    bodies = {shown.number: pool.value(shown.request) for shown in after}
    for option, change in _list_changes(case, fork, after, pool):
        changed = {shown.number: change(shown, bodies[shown.number]) for shown in after}
        if changed == bodies:
            raise ConfigError(f"{option}: it changes no request after request {fork.kept}.")
        bodies = changed
    return bodies


def _list_changes(
    case: ShownCase, fork: Fork, after: Sequence[ShownExchange], pool: PoolReader
) -> Iterator[tuple[str, ChangeBody]]:
    if fork.model:
        yield f"--model {fork.model}", lambda _, body: _with_model(body, fork.model)
    for name, output in fork.outputs.items():
        yield f"--tool-output {name}", _change_output(_find_call(case, name, fork.kept).call_id, output)
    if fork.prompt:
        yield "--prompt", _change_prompt(after[0], pool, fork.prompt)


def _with_model(body: Any, model: str) -> Any:
    return {**body, "model": model} if "model" in as_object(body) else body


def _find_call(case: ShownCase, name: str, kept: int) -> ShownCall:
    """Find a call by its id, or the next one of a tool, whose output comes after the fork."""
    ahead = [call for call in case.calls if call.answered and min(call.answered) > kept]
    found = [call for call in ahead if call.call_id == name] or [call for call in ahead if call.name == name]
    if found:
        return found[0]
    past = [call for call in case.calls if call.answered and name in (call.call_id, call.name)]
    if past:
        number = min(past[-1].answered)
        why = f"request {number}, which is kept, returned it. Fork before that: --fork {number - 1}"
    else:
        names = ", ".join(dict.fromkeys(call.name for call in ahead)) or "none"
        why = f"no such tool or call has an output after request {kept}. Tools that have: {names}"
    raise ConfigError(f"--tool-output {name}: {why}.")


def _change_output(call_id: str, output: str) -> ChangeBody:
    def change(_: ShownExchange, body: Any) -> Any:
        given = as_object(body).get("input")
        if not isinstance(given, list):
            return body
        return {**body, "input": [_with_output(item, call_id, output) for item in given]}

    return change


def _with_output(item: Any, call_id: str, output: str) -> Any:
    is_output = as_object(item).get("call_id") == call_id and "output" in item
    return {**item, "output": output} if is_output else item


def _change_prompt(first: ShownExchange, pool: PoolReader, prompt: str) -> ChangeBody:
    """Change the user's message in the next request, and in the histories of later requests."""
    said = next((text for item in reversed(pool.value(first.added)) if (text := _user_text(item))), "")
    if not said:
        why = f"request {first.number}, the next one, adds nothing that a user says"
        raise ConfigError(f"--prompt: {why}. Fork before a request that does.")
    places = _places(pool.value(first.request), said)

    def change(shown: ShownExchange, body: Any) -> Any:
        given = as_object(body).get("input")
        if isinstance(given, str):
            return {**body, "input": prompt} if shown.number == first.number else body
        history = (
            len(given) - (0 if shown.number == first.number else len(shown.added)) if isinstance(given, list) else 0
        )
        place = [index for index in _places(body, said) if index < history][len(places) - 1 :][:1]
        changed = [_with_text(item, prompt) if index in place else item for index, item in enumerate(given or ())]
        return {**body, "input": changed} if place else body

    return change


def _places(body: Any, said: str) -> list[int]:
    given = as_object(body).get("input")
    return [index for index, item in enumerate(given) if _user_text(item) == said] if isinstance(given, list) else []


def _user_text(item: Any) -> str:
    """Return the text of a user's message; empty for any other item."""
    return message_text(item) if as_object(item).get("role") == "user" else ""


def _with_text(item: Json, text: str) -> Json:
    """Replace the text of a message; other parts, such as images, stay."""
    if isinstance(content := item["content"], str):
        return {**item, "content": text}
    return {
        **item,
        "content": [{"type": "input_text", "text": text}, *(part for part in content if "text" not in part)],
    }
