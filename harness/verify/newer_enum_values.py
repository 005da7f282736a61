"""Recorded refusals of values that the API has accepted since."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.contract.check import check
from harness.core.exchange import Request
from harness.world.world import World

_PATH_STEP = re.compile(r"(\w+)|\[(\d+)\]")
_INVALID_VALUE = re.compile(r"Invalid value: '(.*?)'\. Supported values are: ", re.DOTALL)
_UNKNOWN_VALUE = "unheard-of"


def is_accepted_now(request: Request, error: Mapping[str, Any]) -> bool:
    """Tell whether a value that was refused as invalid is accepted now; there, an unknown one would still be refused."""
    refused, param = _INVALID_VALUE.match(str(error.get("message"))), error.get("param")
    if refused is None or not isinstance(param, str):
        return False
    changed = _replace_value(
        request.body, [name or int(index) for name, index in _PATH_STEP.findall(param)], refused[1]
    )
    violation = check(request._replace(body=changed), World("grown"))
    return violation is not None and violation.error.message.startswith(f"Invalid value: '{_UNKNOWN_VALUE}'.")


def _replace_value(value: Any, path: list[str | int], refused: str) -> Any:
    """Copy a body with an unknown value for `refused`: at the path, or as the `type` of the object there."""
    if value == refused and not path:
        return _UNKNOWN_VALUE
    if isinstance(value, Mapping) and (name := path[0] if path else "type") in value:
        return {**value, name: _replace_value(value[name], path[1:], refused)}
    if isinstance(value, list) and path and isinstance(path[0], int) and path[0] < len(value):
        return [
            _replace_value(element, path[1:], refused) if index == path[0] else element
            for index, element in enumerate(value)
        ]
    return value
