"""Operations: an endpoint's method and path, the schemas of its body and answer, its handler, the cursors of its list."""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from harness.api.http.multipart import CONTENT_TYPE as FORM_TYPE
from harness.core.errors import RegistrationError
from harness.core.exchange import Answer, Request
from harness.core.registry import Registry

Handler = Callable[[Any], Answer]
"""Answers a call, which is a request with its World (`harness.world.api_call`)."""
ListedIds = Callable[[Request, Any], Container[str | None]]
"""The ids of a list's objects, by request and World; None stands for an unknown id, as of recorded items."""
BodyContent = Literal["json", "form", "form or json", "bytes"]
JSON_BODY = "(a JSON body)"
OBJECT_LIST, FILE_LIST, ITEM_LIST = "(a list of objects)", "(a list of files)", "(a list of items)"
"""The groups of lists, by the API's message for a cursor that the list does not contain."""


@dataclass(frozen=True, slots=True)
class Cursors:
    """The objects that `after` and `before` of a list may name, by `ids`; errors call one by the `kind`."""

    kind: str
    ids: ListedIds
    group: str = OBJECT_LIST


@dataclass(frozen=True, slots=True)
class Operation:
    """An endpoint below the API's root, or below a Foundry project itself (`is_project`).

    `id` is the method and the path template, as used in rules: `POST /responses`.
    """

    id: str
    method: str
    template: str
    body_schema: str | None
    query_schema: str | None
    answer_schema: str | None
    handler: Handler
    pattern: re.Pattern[str]
    is_form: bool = False
    is_project: bool = False
    is_form_or_json: bool = False
    is_binary: bool = False
    cursors: Cursors | None = None

    @property
    def takes_json(self) -> bool:
        """Whether the body is JSON, or may be JSON instead of a form."""
        if self.is_project and self.is_form_or_json:
            return True
        if self.is_form or self.is_binary:
            return False
        return self.body_schema is not None or (self.is_project and self.method in ("POST", "PUT", "PATCH"))

    def reads_form(self, content_type: str) -> bool:
        """Return whether a body of this content type is parsed as a form."""
        if not self.is_form_or_json:
            return self.is_form
        kind = content_type.partition(";")[0].strip().lower()
        return kind == FORM_TYPE if self.is_project else kind != "application/json"

    def is_in(self, group: str) -> bool:
        """Return whether the operation is in a group: JSON_BODY, or one of the three kinds of lists."""
        return self.takes_json if group == JSON_BODY else self.cursors is not None and self.cursors.group == group


OPERATIONS: Registry[Operation] = Registry("operation")
"""All operations by id; filled by importing `harness.endpoints`."""

Paths = dict[str, dict[str, Operation]]
PATHS: Paths = {}
"""The operations by path template and method."""
PROJECT_PATHS: Paths = {}
"""The operations below a Foundry project itself."""
PROJECT_API_PATHS: Paths = {}
"""The operations that only a project adds to OpenAI's API below it."""
_PROJECT_ROOT = re.compile(r"/api/projects/[^/]+")
_CLASSIC_PATH = re.compile(r"/(?:assistants|threads|files|vector_stores)(?:/|$)")
"""The paths of OpenAI's API that a project has directly below it, for classic agents."""


def operation(
    method: str,
    template: str,
    *,
    body: str | None = None,
    query: str | None = None,
    answer: str | None = None,
    content: BodyContent = "json",
    project: bool = False,
    project_only: bool = False,
    cursors: Cursors | None = None,
) -> Callable[[Handler], Handler]:
    """Register a function `(call) -> Answer`; `body`, `query` and `answer` name the schemas.

    `content` is JSON; a multipart form, which no schema describes; a form that may also be JSON, which in a `project`
    is the default unless declared a form; or bytes that are not parsed. A project's JSON has no schema, and its body
    may be absent. `cursors` are those of a list; a cursor that it does not contain is refused. In a `project` path a
    parameter ends before a colon, as actions follow one: `/agents/{agent_name}:enable`; one with a plus, `{+blob}`, is
    the rest of the path. A `project_only` operation exists next to those of OpenAI's API, in a project.
    """

    def register(handler: Handler) -> Handler:
        one_part = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/:]+)" if project else r"(?P<\1>[^/]+)", template)
        pattern = re.compile(re.sub(r"\{\+(\w+)\}", r"(?P<\1>.+)", one_part), re.S)
        made = Operation(
            *(f"{method} {template}", method, template, body, query, answer, handler, pattern),
            is_form=content in ("form", "form or json"),
            is_project=project,
            is_form_or_json=content == "form or json",
            is_binary=content == "bytes",
            cursors=cursors,
        )
        if not handler.__doc__:
            raise RegistrationError(f"operation {made.id}: no docstring")
        paths = PROJECT_PATHS if project else PROJECT_API_PATHS if project_only else PATHS
        paths.setdefault(template, {})[method] = OPERATIONS.add(made.id, made)
        find_operation.cache_clear()
        return handler

    return register


@lru_cache(maxsize=256)
def find_operation(method: str, path: str, root: str = "") -> tuple[Operation | None, Mapping[str, str], bool]:
    """Find the operation for a method and a path below a root, the path's parameters, and whether the path exists.

    A literal path precedes a template, but only for its own methods: `GET /responses/compact` retrieves a response.
    """
    project = _PROJECT_ROOT.match(root)
    if project is None:
        return _find_in(PATHS, method, path)
    if project.end() < len(root):
        own = _find_in(PROJECT_API_PATHS, method, path)
        return own if own[0] else _find_in(PATHS, method, path)
    found = _find_in(PROJECT_PATHS, method, path)
    return _find_in(PATHS, method, path) if not found[2] and _CLASSIC_PATH.match(path) else found


def _find_in(paths: Paths, method: str, path: str) -> tuple[Operation | None, Mapping[str, str], bool]:
    exact = {} if "{" in path else paths.get(path, {})
    if (found := exact.get(method)) is not None:
        return found, {}, True
    known = bool(exact)
    for methods in paths.values():
        first = next(iter(methods.values()))
        if "{" in first.template and (match := first.pattern.fullmatch(path)):
            if method in methods:
                return methods[method], match.groupdict(), True
            known = True
    return None, {}, known
