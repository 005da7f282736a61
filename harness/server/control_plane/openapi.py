"""Describes the control plane: its OpenAPI document, and `/_harness/docs`, a page without scripts or requests."""

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import FastAPI

from harness.core.exchange import Json
from harness.core.vocabulary import VOCABULARIES
from harness.world.scripting.settings import ALLOW

_TEXT: Json = {"type": "string"}
_OBJECT: Json = {"type": "object"}


def _members(*required: str, **properties: Json) -> Json:
    """Build the schema of an object with exactly these members."""
    return {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}


BODIES: Mapping[str, Json] = {
    "/script": _OBJECT,
    "/advance": _members(id=_TEXT),
    "/skip": _members("seconds", seconds={"type": "integer", "minimum": 0, "maximum": 2**53 - 1}),
    "/expect": _members(
        "refusals",
        refusals={"anyOf": [{**_TEXT, "minLength": 1}, {"type": "array", "items": {**_TEXT, "minLength": 1}}]},
    ),
    "/said": _members("items", items={"type": "array", "minItems": 1, "items": {"type": ["string", "object"]}}),
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
"""The schemas of the bodies, by path below `/_harness`; the format of scripts is not described here."""

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
    403: _refusal("The Host is not a name of this server."),
}
"""The refusals that every control request may receive, by status."""


class ControlApp(FastAPI):
    """A FastAPI app whose OpenAPI document describes its real refusals: an invalid query is a 400, too."""

    def openapi(self) -> dict[str, Any]:
        """Build the OpenAPI document, without the 422 that FastAPI would declare."""
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


CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "h2{font-size:1em;margin-top:2em}code{font-size:.95em}"
)
_CODE, _CODE_IN_HTML = re.compile(r"`([^`]*)`"), r"<code>\1</code>"


def render_control_page(openapi: Json) -> str:
    """Render the page for an OpenAPI document: each request with its description and parameters."""
    title = escape(openapi["info"]["title"])
    requests = "\n".join(
        _render_request(method, path, operation)
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>The control plane of {title}</h1>\n"
        "<p>The bearer key of a request names its World. "
        f'<a href="openapi.json">openapi.json</a> says the same for programs.</p>\n{requests}\n</body></html>\n'
    )


def _render_request(method: str, path: str, operation: Json) -> str:
    paragraphs = operation.get("description", "").split("\n\n")
    parameters = "".join(f"<li>{parameter}</li>" for parameter in _describe_parameters(operation))
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        + "".join(f"<p>{_CODE.sub(_CODE_IN_HTML, escape(text))}</p>" for text in paragraphs)
        + (f"<ul>{parameters}</ul>" if parameters else "")
    )


def _describe_parameters(operation: Json) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        if parameter["in"] != "query":
            continue
        schema = parameter["schema"]
        values = " | ".join(schema.get("enum", ())) or schema.get("type", "")
        yield f"<code>?{escape(parameter['name'])}={escape(values)}</code>, by default {escape(str(schema.get('default')))}"
