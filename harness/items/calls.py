"""What the model asks the client to run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.errors import ScriptError
from harness.exchange import Json
from harness.item import Grow, Text, item


@item("fc", Grow("arguments", "function_call_arguments"), fills={"call_id": None})
def function_call(
    name: str,
    arguments: Mapping[str, Any] | Text = "{}",
    *,
    call_id: str | None = None,
    namespace: str | None = None,
) -> Json:
    """The model calls a function of the client.

    `arguments` is an object, written as compact JSON, or a str that is passed as it is: models do emit broken JSON; a
    list of str is the exact deltas. Without `call_id` the World gives one out.
    """
    if not isinstance(name, str) or not name:
        raise ScriptError(f"name is {name!r}. Give the name of the function the model calls.")
    members: Json = {"arguments": _written(arguments), "call_id": call_id, "name": name}
    return members if namespace is None else {**members, "namespace": namespace}


def _written(arguments: Mapping[str, Any] | Text) -> Text:
    if not isinstance(arguments, Mapping):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ScriptError(f"arguments cannot be written as JSON: {error}. Give plain JSON values, or a str.") from error
