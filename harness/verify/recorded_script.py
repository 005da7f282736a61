"""Converts a recording to a script, and finds how a client's requests differ from those recorded.

The model's answers become turns, errors refusals, other parts of the API routes. The script is plain data, written as
Python, YAML or JSON, and names what cannot be played. Endpoints that the mock implements (stored responses, files,
conversations) are not scripted: the mock answers them as usual.
"""

import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import orjson

import harness.contract.rules
import harness.foundry  # noqa: F401  (registers every operation and rule)
from harness.api.http import bodies
from harness.api.http.dialects import path_below_root
from harness.api.operations import find_operation
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.readable_yaml import dump_yaml
from harness.cassettes.recording.as_script import (
    is_model_request,
    lines_of_broken_stream,
    parse_recorded_turn,
    recorded_response,
)
from harness.cassettes.recording.matching import api_root, comparable_request, describe_request, diff_requests
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.core.errors import HarnessError, ScriptError
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_object, omit
from harness.core.text import pluralize
from harness.verify.judging.unverifiable import ACCOUNT_STATUSES, match_rules
from harness.verify.judging.websockets import to_http_interactions
from harness.world.mock import Mock
from harness.world.routed_requests import make_routed
from harness.world.scripting.document import parse_document
from harness.world.scripting.lines import (
    Code,
    Lines,
    indent,
    lines_of,
    python_call,
    python_imports,
    python_turn,
    python_value,
)

RUNS = (
    "POST /threads/runs",
    "POST /threads/{thread_id}/runs",
    "POST /threads/{thread_id}/runs/{run_id}/submit_tool_outputs",
)
"""Requests of the Assistants API that run a model, whose output is spread over later exchanges."""
_TOLD_HEADERS = ("retry-after", "retry-after-ms", "x-should-retry")
ScriptForm = Literal["python", "yaml", "json"]
SCRIPT_FORMS: tuple[str, ...] = get_args(ScriptForm)


@dataclass(slots=True)
class RecordedScript:
    """A recording as a script.

    `turns` are the answers of the model, in order; `routes` the answers of other parts of the API, by method and path;
    `requests` the recorded requests that they answer. `refusals` are the rules that will refuse a recorded request
    again. `left_out` lists what is not played, and why.
    """

    name: str
    turns: list[Lines] = field(default_factory=list)
    routes: dict[str, list[Json]] = field(default_factory=dict)
    requests: list[Interaction] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def document(self) -> Json:
        """The script in the form of a script file."""
        turns = [turn[0] if len(turn) == 1 else [*turn] for turn in self.turns]
        parts = {"script": turns, "route": self.routes, "refusals": list(dict.fromkeys(self.refusals))}
        return {name: part for name, part in parts.items() if part}

    def apply(self, mock: Mock) -> None:
        """Script a mock with all of it; as recorded, turns may call tools that a request does not declare."""
        mock.script(*(parse_recorded_turn(turn, self.name, number) for number, turn in enumerate(self.turns, 1)))
        if rest := omit(self.document, "script"):
            parse_document(rest).apply(mock)


def read_script(interactions: Iterable[Interaction], name: str) -> RecordedScript:
    """Convert a recording to a script; `name` is its name in errors. ScriptError if nothing can be played."""
    recorded = [entry for interaction in interactions for entry in to_http_interactions(interaction)]
    root, script = api_root(recorded), RecordedScript(name)
    for interaction in recorded:
        path = urlsplit(interaction.uri).path
        below = path_below_root(path) or path.removeprefix(root)
        _add(script, interaction, below)
    if not script.turns and not script.routes:
        why = f": {script.left_out[0]}" if script.left_out else ". Pass a recording of `POST /responses`."
        raise ScriptError(f"{name}: it has no model response{why}")
    return script


def _add(script: RecordedScript, interaction: Interaction, below: str) -> None:
    operation, _, is_known = find_operation(interaction.method, below)
    what = describe_request(interaction)
    if not interaction.status:
        script.left_out.append(f"{what}: no answer was recorded")
    elif is_model_request(interaction):
        _add_turn(script, interaction, what)
    elif operation and operation.id in RUNS:
        script.left_out.append(f"{what}: the output of a run of the Assistants API is spread over other exchanges")
    elif is_known:
        _note_error(script, interaction, what)
    else:
        _add_route(script, interaction, below, what)


def _add_turn(script: RecordedScript, interaction: Interaction, what: str) -> None:
    if interaction.status >= 400 and _is_refused_again(script, interaction):
        return
    if interaction.status >= 400:
        lines: Lines = [_refusal(interaction)]
    else:
        response = recorded_response(interaction)
        lines = (lines_of(response) if response else lines_of_broken_stream(interaction)) or []
    if lines:
        script.turns.append(lines)
        script.requests.append(interaction)
    else:
        script.left_out.append(f"{what}: its answer ({interaction.status}) has no output of a model")


def _is_refused_again(script: RecordedScript, interaction: Interaction) -> bool:
    """Return whether a rule will refuse such a request again, whatever the account, and expect the refusal then."""
    if interaction.status in ACCOUNT_STATUSES or interaction.status >= 500:
        return False
    rule = next(match_rules(interaction.status, _recorded_error(interaction)), None)
    script.refusals.extend([rule.id] if rule else ())
    return rule is not None


def _refusal(interaction: Interaction) -> Json:
    """Convert a recorded error to a line: its members, and the headers that control retries."""
    headers = {
        name: value
        for name, value in interaction.answer_headers.items()
        if name in _TOLD_HEADERS or name.startswith("x-ratelimit-")
    }
    error = _recorded_error(interaction)
    members: Json = {
        "status": interaction.status,
        "message": str(error.get("message") or interaction.reason or "error"),
    }
    known = {name: error[name] for name in ("type", "code", "param") if isinstance(error.get(name), str)}
    return {"http_error": {**members, **known, **({"headers": headers} if headers else {})}}


def _recorded_error(interaction: Interaction) -> Json:
    body = bodies.decode_answer(interaction.answer, interaction.answer_headers).body
    return as_object(as_object(body).get("error"))


def _note_error(script: RecordedScript, interaction: Interaction, what: str) -> None:
    """Handle an error of an endpoint that the mock implements: expect a rule's refusal, or leave the error out."""
    if interaction.status >= 400 and not _is_refused_again(script, interaction):
        script.left_out.append(
            f"{what}: its error ({interaction.status}) is not played; only a model's can be scripted"
        )


def _add_route(script: RecordedScript, interaction: Interaction, below: str, what: str) -> None:
    answer = _routed_answer(interaction)
    try:
        make_routed(interaction.method, below, "", answer.get("status", 200), answer.get("headers"))
    except HarnessError as problem:
        script.left_out.append(f"{what}: {problem}")
        return
    script.routes.setdefault(f"{interaction.method} {below}", []).append(answer)
    script.requests.append(interaction)


def _routed_answer(interaction: Interaction) -> Json:
    """Convert an answer to that of a route: JSON and text unchanged, anything else as base64."""
    kind = interaction.answer_headers.get("content-type", "")
    plain = bodies.undo_encodings(interaction.answer, interaction.answer_headers, bodies.MAX_JUDGED_SIZE)
    raw = interaction.answer if plain is None else plain
    head: Json = {} if interaction.status == 200 else {"status": interaction.status}
    body = None if interaction.is_stream else bodies.decode_answer(raw, {"content-type": kind}).body
    if isinstance(body, dict | list) and "json" in kind:
        return {**head, "json": body}
    headers = {"headers": {"content-type": kind}} if kind else {}
    try:
        return {**head, "text": raw.decode(), **headers}
    except UnicodeDecodeError:
        return {**head, "base64": base64.b64encode(raw).decode(), **headers}


def requests_of(script: RecordedScript) -> Iterator[tuple[str, Interaction]]:
    """Yield the recorded requests that the script answers, each with its method and its path below the API root."""
    root = api_root(script.requests)
    for interaction in script.requests:
        path = urlsplit(interaction.uri).path
        below = "/responses" if is_model_request(interaction) else path_below_root(path) or path.removeprefix(root)
        yield f"{interaction.method} {below}", replace(interaction, uri=below)


def write_script(script: RecordedScript, form: ScriptForm) -> str:
    """Render a recorded script; comments, except in JSON, list what it leaves out."""
    return write_form(script.document, _comments(script), form, _python_lines(script))


def write_form(document: Json, comments: str, form: ScriptForm, code: Iterable[str]) -> str:
    """Write a script in a form: its document, or its code in Python; below its comments, except in JSON."""
    if form == "json":
        return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    body = dump_yaml(document) if form == "yaml" else "\n".join(code)
    return f"{comments}{body}".rstrip()


def _comments(script: RecordedScript) -> str:
    again = ", ".join(dict.fromkeys(script.refusals))
    lines = [
        f"what {script.name} recorded",
        *([f"refused again, where the requests are the same, by {again}"] if again else []),
        *(f"not played: {why}" for why in script.left_out),
    ]
    return as_comments(lines)


def as_comments(texts: Iterable[str]) -> str:
    """Write each text as a comment on a line of its own, as YAML and Python have it."""
    return "".join(f"# {' '.join(text.split())}\n" for text in texts)


def _python_lines(script: RecordedScript) -> Iterator[str]:
    if script.routes:
        yield "from harness.core.exchange import Answer"
    yield from python_imports(script.turns)
    yield from ("", "script = [", *(f"{indent(python_turn(turn))}," for turn in script.turns), "]")
    if script.routes:
        yield from ("", "", "def setup(mock):")
    for name, answers in script.routes.items():
        method, _, path = name.partition(" ")
        shown = [_routed(answer) for answer in answers]
        yield indent(python_call("mock.route", [python_value(method), python_value(path), python_value(shown)]))


def _routed(answer: Json) -> Code:
    """Render an answer of a route as its body, or as an `Answer` if it has a status or headers."""
    body: Any = answer.get("json", answer.get("text", ""))
    shown = python_value(base64.b64decode(answer["base64"]) if "base64" in answer else body)
    if "status" not in answer and "headers" not in answer:
        return Code(shown)
    return Code(python_call("Answer", [str(answer.get("status", 200)), shown, python_value(answer.get("headers", {}))]))


@dataclass(frozen=True, slots=True)
class RequestChange:
    """A request that differs from the recorded one: its exchange, and the difference as a diff.

    `exchange` is None if the recorded request did not come again.
    """

    exchange: int | None
    what: str
    diff: str

    def __str__(self) -> str:
        if self.exchange is None:
            return f"{self.what} was recorded, but not sent"
        if not self.diff:
            return f"request {self.exchange}, {self.what}, was not recorded"
        return f"request {self.exchange}, {self.what}, differs from the recording:\n{self.diff}"


def find_changes(script: RecordedScript, exchanges: Sequence[Exchange]) -> list[RequestChange]:
    """Compare the requests of a journal with the recorded ones, in order for each method and path.

    Ids are ignored, and whatever else the replay of a cassette ignores.
    """
    came: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        came[_key_of(exchange)].append(exchange)
    recorded: dict[str, list[Interaction]] = defaultdict(list)
    for endpoint, interaction in requests_of(script):
        recorded[endpoint].append(interaction)
    found = [
        change for endpoint, before in recorded.items() for change in _compare(endpoint, before, came.get(endpoint, []))
    ]
    return sorted(found, key=lambda change: (change.exchange is None, change.exchange or 0))


def summarize_changes(changes: Sequence[RequestChange], name: str) -> str:
    """Summarize in one line how many requests differ, are additional, or did not come."""
    counts = {
        "{} differ{} from it": sum(bool(change.diff) for change in changes),
        "{} came besides": sum(change.exchange is not None and not change.diff for change in changes),
        "{} did not come": sum(change.exchange is None for change in changes),
    }
    counted = (
        (words, pluralize(count, "request"), "s" if count == 1 else "") for words, count in counts.items() if count
    )
    return f"{name}: {', '.join(words.format(*parts) for words, *parts in counted)}"


def _compare(what: str, recorded: Sequence[Interaction], came: Sequence[Exchange]) -> Iterator[RequestChange]:
    method, _, path = what.partition(" ")
    for before, exchange in zip(recorded, came, strict=False):
        sent = Interaction(method, path, exchange.request.headers, exchange.request.raw)
        known, asked = map(comparable_request, scrub_interactions([before]) + scrub_interactions([sent]))
        if known != asked:
            yield RequestChange(exchange.number, what, "\n".join(diff_requests(known, asked)))
    yield from (RequestChange(exchange.number, what, "") for exchange in came[len(recorded) :])
    yield from (RequestChange(None, what, "") for _ in recorded[len(came) :])


def _key_of(exchange: Exchange) -> str:
    """Return the method and path of a request below the API root; for a WebSocket as for HTTP."""
    request = exchange.request
    return f"{'POST' if request.method == 'WS' else request.method} {request.path}"
