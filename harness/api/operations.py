"""What an operation is: an endpoint's method and path, the schemas of its body and answer, and the function behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

from harness.core.errors import RegistrationError
from harness.core.exchange import Answer, Request
from harness.core.registry import Registry

Handler = Callable[[Request, Any], Answer]
ListedIds = Callable[[Request, Any], Container[str | None]]
"""The ids of a list's objects, by request and World; None stands for an unknown id, as of items that a recording sent."""
JSON_BODY = "(a JSON body)"
"""The group of operations whose body is JSON."""
OBJECT_LIST, ITEM_LIST, FILE_LIST = "(a list of objects)", "(a list of items)", "(a list of files)"
"""The groups of lists, by the words of the API for a cursor that the list does not have."""


@dataclass(frozen=True, slots=True)
class Cursors:
    """What `after` and `before` of a list name: the `kind` of its objects, as an error calls one, and their `ids`."""

    kind: str
    ids: ListedIds
    group: str = OBJECT_LIST


@dataclass(frozen=True, slots=True)
class Operation:
    """One endpoint below the API's root: `POST /responses`; of a Foundry `project`, one below that project itself."""

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
    cursors: Cursors | None = None

    @property
    def id(self) -> str:
        """The method and the path template, as rules name it."""
        return f"{self.method} {self.template}"

    @property
    def takes_json(self) -> bool:
        """Whether the body is JSON."""
        return not self.is_form and (self.body_schema is not None or (self.is_project and self.method == "POST"))

    def is_in(self, group: str) -> bool:
        """Whether the operation is one of a group: JSON_BODY, or a list of one of the three."""
        return self.takes_json if group == JSON_BODY else self.cursors is not None and self.cursors.group == group


OPERATIONS: Registry[Operation] = Registry("operation")
"""Every operation by id; filled by importing `harness.endpoints`."""

PATHS: dict[str, dict[str, Operation]] = {}
_PROJECT_ROOT = re.compile(r"/api/projects/[^/]+")


def operation(
    method: str,
    template: str,
    *,
    body: str | None = None,
    query: str | None = None,
    answer: str | None = None,
    form: bool = False,
    project: bool = False,
    json: bool = False,
    cursors: Cursors | None = None,
) -> Callable[[Handler], Handler]:
    """Register a function `(request, world) -> Answer`; `body`, `query` and `answer` name the schemas.

    With `form` the body is a multipart form, which no schema describes, with `json` too it may be JSON as well; of a
    `project` it is JSON that none describes. `cursors` are those of a list; one that it does not have is refused.
    """

    def register(handler: Handler) -> Handler:
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template))
        made = Operation(method, template, body, query, answer, handler, pattern, form, project, form and json, cursors)
        if not handler.__doc__:
            raise RegistrationError(f"operation {made.id}: no docstring")
        PATHS.setdefault(template, {})[method] = OPERATIONS.add(made.id, made)
        return handler

    return register


def find_operation(method: str, path: str, root: str = "") -> tuple[Operation | None, Mapping[str, str], bool]:
    """The operation for a method and a path below a root, the path's parameters, and whether the path exists at all.

    A literal path goes before a template, but only for the methods it has: `GET /responses/compact` asks for a response.
    """
    exact = {} if "{" in path else PATHS.get(path, {})
    found = exact.get(method)
    if found is not None and (not found.is_project or _PROJECT_ROOT.fullmatch(root)):
        return found, {}, True
    known = bool(exact) and _is_below_root(exact, root)
    for methods in PATHS.values():
        one = next(iter(methods.values()))
        if "{" in one.template and (match := one.pattern.fullmatch(path)) and _is_below_root(methods, root):
            if method in methods:
                return methods[method], match.groupdict(), True
            known = True
    return None, {}, known


def _is_below_root(methods: Mapping[str, Operation], root: str) -> bool:
    """Whether a path is one below this root: the endpoints of a project are nowhere else."""
    return not next(iter(methods.values())).is_project or bool(_PROJECT_ROOT.fullmatch(root))
