"""The tools of a task as plain Python functions, with the signature and the annotations of their schema."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from harness.examine.task import Task, Tool

_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict[str, Any]}


class ToolFailedError(Exception):
    """What a tool raises that a case lets fail."""


def functions_of(task: Task) -> dict[str, Callable[..., Any]]:
    """Make the functions of a task's tools, by name; each call is counted."""
    return {tool.name: _make_function(tool) for tool in task.tools}


def _make_function(tool: Tool) -> Callable[..., Any]:
    required = tool.parameters.get("required", ())
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=_annotation(schema),
            **({} if name in required else {"default": None}),
        )
        for name, schema in tool.parameters.get("properties", {}).items()
    ]

    def function(**arguments: Any) -> Any:
        return run_tool(tool, arguments)

    function.__name__ = function.__qualname__ = tool.name
    function.__doc__ = tool.description or f"Run {tool.name}."
    function.__annotations__ = {**{parameter.name: parameter.annotation for parameter in parameters}, "return": str}
    vars(function)["__signature__"] = inspect.Signature(parameters, return_annotation=str)
    return function


def _annotation(schema: Mapping[str, Any]) -> Any:
    if schema.get("type") == "array":
        return GenericAlias(list, _annotation(schema.get("items", {})))
    return _TYPES.get(schema.get("type", ""), str)


def run_tool(tool: Tool, arguments: Any) -> Any:
    """Run a tool; ToolFailedError when the case lets it fail."""
    asked = Request(tool.url, json.dumps(arguments).encode(), {"content-type": "application/json"})
    try:
        with urlopen(asked, timeout=60) as answer:
            return json.loads(answer.read())
    except HTTPError as refused:
        raise ToolFailedError(refused.read().decode()) from None
