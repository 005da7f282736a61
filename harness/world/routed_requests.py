"""Answers for parts of the provider's API that are not mocked: `mock.route("POST", "/embeddings", …)`.

Routed requests are in the journal, but no rule judges them. An answer is a JSON object, a string, bytes, an
`http_error`, an `Answer` with a status and headers, or a function of the request that returns one of these; a list
holds one per request.
"""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from re import Pattern
from typing import Any

from harness.api.http.bodies import copy_body, parse_body
from harness.api.http.dialects import root_of
from harness.api.http.multipart import CONTENT_TYPE as FORM_TYPE
from harness.api.http.multipart import parse_form
from harness.api.operations import find_operation
from harness.core.delivery import DISCONNECT_AT_END
from harness.core.errors import (
    NOWHERE,
    ConfigError,
    Place,
    ScriptError,
    describe_code,
    find_calling_place,
    raise_as_script_error,
)
from harness.core.exchange import EMPTY_MAPPING, ROUTED, Answer, Request
from harness.core.json_values import copy_json, dump_set, is_model
from harness.core.registry import suggest_name
from harness.core.text import show
from harness.faults import Refusal, check_headers

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
_FORMS = (
    "Pass a dict, a text, bytes, http_error(429, '…'), Answer(202, {…}, {'name': 'value'}), a function of the request that "
    "returns one of these, or a list of these for one request each."
)


@dataclass(slots=True)
class RoutedPath:
    """A method and a path below the base URL, with its answers: a single one is reused, those of a list are not."""

    method: str
    path: str
    answers: list[Any]
    is_list: bool
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    taken: int = 0
    place: Place = NOWHERE
    pattern: Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        texts_and_names = enumerate(re.split(r"\{(\w+)\}", self.path))
        parts = (f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in texts_and_names)
        self.pattern = re.compile("".join(parts))

    def __str__(self) -> str:
        return f"route({self.method!r}, {self.path!r})"

    @property
    def unused(self) -> list[Any]:
        """The unused answers of a list; a single answer may stay unused."""
        return self.answers[self.taken :] if self.is_list else []

    def answer(self, request: Request) -> Answer:
        """Answer a request; ScriptError if no answer is left, or if a function raises or returns something invalid."""
        if self.is_list and self.taken >= len(self.answers):
            raise ScriptError(
                f"{self}: all {len(self.answers)} answers are used. Add one to the list, or pass a function."
            )
        made = self.answers[self.taken if self.is_list else 0]
        self.taken += 1
        if not callable(made):
            return self.make_answer(made)
        try:
            # The function may change what it gets; the journal keeps what was sent.
            returned = made(request._replace(body=copy_body(request.body)))
            if inspect.iscoroutine(returned):
                # Python would warn of a coroutine that nobody awaited.
                returned.close()
                raise ScriptError(f"{self}: {describe_code(made)} is async. Pass a plain function.")
            return self.make_answer(_join(returned))
        except BaseException as problem:
            raise_as_script_error(problem, f"{self}: its function raised ", f"{self}: ")

    def make_answer(self, made: Any) -> Answer:
        """Convert a value to an answer; ScriptError if it cannot be sent."""
        if isinstance(made, Refusal):
            return self._refuse(made)
        status, body, own = (
            (made.status, made.body, made.headers) if isinstance(made, Answer) else (self.status, made, {})
        )
        _check_head(str(self), status, own)
        plain = dump_set(body) if is_model(body) else body
        kind = _content_type(plain)
        if kind is None:
            raise ScriptError(f"{self}: {show(plain, 80)} is not an answer. {_FORMS}")
        if not isinstance(plain, bytes):
            plain = copy_json(plain, f"{self}: ")
        if isinstance(plain, str):
            plain = plain.encode()
        lower = {name.lower(): value for name, value in {**self.headers, **own}.items()}
        return Answer(status, plain, {"content-type": kind, **lower})

    def _refuse(self, refusal: Refusal) -> Answer:
        if error := refusal.error:
            return Answer(error.status, error.body(), error.headers or EMPTY_MAPPING)
        if refusal.account:
            raise ScriptError(f"{self}: this error is reserved for the mock. Use http_error(429, '…').")
        return Answer(0, delivery=DISCONNECT_AT_END._replace(resets=refusal.resets))


def _join(returned: Any) -> Any:
    """Join the pieces of a returned generator; anything else is returned unchanged."""
    is_in_pieces: bool = inspect.isgenerator(returned)
    return b"".join(returned) if is_in_pieces else returned


def _content_type(body: Any) -> str | None:
    if isinstance(body, dict | list):
        return "application/json"
    if isinstance(body, str):
        return "text/plain; charset=utf-8"
    return "application/octet-stream" if isinstance(body, bytes) else None


def make_routed(method: Any, path: Any, answer: Any, status: Any, headers: Any) -> RoutedPath:
    """Make a routed path; ConfigError or ScriptError for invalid arguments."""
    at = f"route({show(method)}, {show(path)})"
    if method not in METHODS:
        raise ConfigError(f"{at}: no method {show(method)}. {suggest_name(str(method).upper(), METHODS)}")
    _check_path(at, path)
    operation, _, known = find_operation(method, path)
    if known:
        what = f"{operation.id} is mocked" if operation else f"{path} is mocked, and {method} is refused there"
        raise ConfigError(
            f"{at}: {what}. Script model answers with mock.script(…); route only endpoints that are not mocked."
        )
    _check_head(at, status, headers or {})
    is_list = isinstance(answer, list)
    answers = list(answer) if is_list else [answer]
    if not answers:
        raise ConfigError(f"{at}: the list of answers is empty. {_FORMS}")
    made = RoutedPath(method, path, answers, is_list, status, dict(headers or {}), place=find_calling_place())
    for reply in answers:
        if isinstance(reply, type) or (inspect.iscoroutinefunction(reply) or inspect.isasyncgenfunction(reply)):
            raise ConfigError(f"{at}: {show(reply)} is a class or async. Pass a plain function, or what it returns.")
        if not callable(reply):
            made.make_answer(reply)  # so that a mistake shows here, not at the first request
    return made


def _check_path(at: str, path: Any) -> None:
    if not isinstance(path, str) or not path.startswith("/") or re.search(r"[?#\s]", path):
        raise ConfigError(f"{at}: pass the path below the base URL, with a slash and without a query: '/embeddings'.")
    if re.match(r"/(?:v1|openai|_harness)(?:/|$)|/api/projects/", path):
        raise ConfigError(f"{at}: pass the path below the base URL, '/embeddings' for all of the provider's forms.")
    names = re.findall(r"\{(\w+)\}", path)
    if re.sub(r"\{[a-zA-Z_]\w*\}", "", path).translate({ord(brace): "{" for brace in "}"}).count("{") or len(
        names
    ) != len(set(names)):
        raise ConfigError(f"{at}: path parameters must have different names: '/batches/{{batch_id}}'.")


def _check_head(at: str, status: Any, headers: Any) -> None:
    if not isinstance(status, int) or isinstance(status, bool) or not 200 <= status <= 599:
        raise ConfigError(f"{at}: status is {show(status)}. Use 200 to 599.")
    check_headers(at, headers)


def find_routed(routed: Iterable[RoutedPath], request: Request) -> tuple[RoutedPath, Request] | None:
    """Find the newest route for a request that is not mocked, and the request as its functions receive it."""
    below = request.path if request.root else request.path.removeprefix(root_of(request.path) or "")
    for route in routed:
        if route.method == request.method and (found := route.pattern.fullmatch(below)):
            return route, request._replace(operation=ROUTED, params=found.groupdict(), body=_read_body(request))
    return None


def _read_body(request: Request) -> Any:
    kind = request.headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() == FORM_TYPE:
        return parse_form(request.raw, kind)
    return parse_body(request.raw)[0] if request.raw else None
