"""`/_harness/docs`: the control plane as one page that loads nothing and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from harness.core.exchange import Json

CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "h2{font-size:1em;margin-top:2em}code{font-size:.95em}"
)
_CODE = re.compile(r"`([^`]*)`")


def render_control_page(openapi: Json) -> str:
    """Render the page for an OpenAPI document: each request with its description and its parameters."""
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
        + "".join(f"<p>{_CODE.sub(_render_code, escape(text))}</p>" for text in paragraphs)
        + (f"<ul>{parameters}</ul>" if parameters else "")
    )


def _describe_parameters(operation: Json) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        schema = parameter["schema"]
        values = " | ".join(schema.get("enum", ())) or schema.get("type", "")
        yield f"<code>?{escape(parameter['name'])}={escape(values)}</code>, by default {escape(str(schema.get('default')))}"


def _render_code(found: re.Match[str]) -> str:
    return f"<code>{found[1]}</code>"
