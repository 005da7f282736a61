"""What the control plane's OpenAPI document says beyond the parameters of its handlers: bodies and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI

from harness.core.exchange import Json
from harness.core.text.vocabulary import VOCABULARIES
from harness.world.scripting.settings import ALLOW

_TEXT: Json = {"type": "string"}
_OBJECT: Json = {"type": "object"}


def _members(*required: str, **properties: Json) -> Json:
    """Make the schema of an object with these members and no others."""
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


BODIES: Mapping[str, Json] = {
    "/script": _OBJECT,
    "/advance": _members(id=_TEXT),
    "/skip": _members("seconds", seconds={"type": "integer", "minimum": 0, "maximum": 2**53 - 1}),
    "/expect": _members(
        "refusals",
        refusals={"anyOf": [{**_TEXT, "minLength": 1}, {"type": "array", "items": {**_TEXT, "minLength": 1}}]},
    ),
    "/surfaced": _members(
        "result", result={}, only={"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}, losses={"const": ALLOW}
    ),
    "/open": _members("gate", gate=_TEXT),
    "/turns": _members(yaml=_TEXT, turn=_TEXT, was=_TEXT),
    "/hold": _members("on", on={"type": "boolean"}),
    "/answer": _members("request", request={"type": "integer", "minimum": 0, "maximum": 2**53 - 1}, yaml=_TEXT),
    "/step": _members(on={"type": "boolean"}),
    "/decide": _members("approval", "approve", approval=_TEXT, approve={"type": "boolean"}, reason=_TEXT),
    "/world": _members("name", name=_TEXT, language={"enum": [*VOCABULARIES]}),
}
"""The schemas of the bodies, by the path below `/_harness`; what a script may say is not in it."""

_ERROR: Json = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"message": _TEXT, "type": {"const": "harness_error"}},
            "required": ["message", "type"],
        }
    },
    "required": ["error"],
}


def _refusal(description: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": _ERROR}}}


REFUSALS: dict[int | str, Json] = {
    400: _refusal("No World, or something in the request that cannot be used; the message says what and where."),
    401: _refusal("The token of the control plane is missing or wrong."),
    403: _refusal("The Host is no name of this server."),
}
"""The refusals that every control request may get, by status."""


class ControlApp(FastAPI):
    """A FastAPI app whose description says how it refuses: a query that is not valid, too, is a 400."""

    def openapi(self) -> dict[str, Any]:
        """Describe the app in OpenAPI, without the 422 that FastAPI would answer."""
        described = super().openapi()
        for operations in described["paths"].values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
        return described


def describe_body(method: str, path: str) -> dict[str, Any] | None:
    """Describe the body of a control request in OpenAPI; None for a request without a body."""
    if method != "POST" or path not in BODIES:
        return None
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": BODIES[path]}}}}
