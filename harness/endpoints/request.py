"""Builds a request as the contract checks it, the same for a served request and a recorded one."""

from collections.abc import Mapping
from typing import Any

from harness.api.http import multipart
from harness.api.http.bodies import coerce_query, parse_body
from harness.api.http.dialects import ApiPath
from harness.api.operations import Operation, find_operation
from harness.contract import schema
from harness.core.exchange import EMPTY_MAPPING, JsonFault, ReceivedRequest, Request

MAX_FORM_KEPT = 1 << 20
"""The largest form, in bytes, that the journal keeps as received; of a larger one it keeps the fields."""


def read_request(received: ReceivedRequest, place: ApiPath) -> Request:
    """Parse a request to any operation at a place."""
    method, _, headers, query, raw, form = received
    dialect, root, below = place
    operation, params, known = find_operation(method, below, root) if root else (None, {}, False)
    if operation is None:
        reason = "wrong method" if known else "unknown URL" if root else "outside the API"
        return Request(method, below, headers, query, raw=raw, operation=reason, dialect=dialect, root=root)
    kind = headers.get("content-type", "")
    if form is None and (kind == "application/json" or not multipart.is_form(kind)):
        return request_from(operation, params, place, headers, query, raw)
    reads_form = operation.reads_form(kind)
    # A large form has already been parsed, from the connection to disk; a small one arrives as bytes.
    is_new_form = reads_form and form is None and multipart.is_form(kind)
    if is_new_form:
        form = multipart.parse_whole_form(raw, kind)
    fields, on_disk = form if form and reads_form else (None, EMPTY_MAPPING)
    request = request_from(operation, params, place, headers, query, raw, fields)
    if is_new_form and form is None:
        return request._replace(fault=JsonFault("form"), schema=None)
    return request._replace(on_disk=on_disk) if on_disk else request


def request_from(
    operation: Operation,
    params: Mapping[str, str],
    place: ApiPath,
    headers: Mapping[str, str],
    query: Mapping[str, Any],
    raw: bytes | None,
    body: Any = None,
) -> Request:
    """Make an operation's request, with its body parsed and its query typed by the operation's schema.

    `params` are the path parameters, `query` holds strings. If the bytes of the body are unknown, `raw` is None and
    `body` is what is known of it; for a form parsed earlier, `body` holds its fields. Header names are lower case.
    """
    fault = None
    if operation.is_form and operation.reads_form(headers.get("content-type", "")):
        if body is None or raw is None:
            body = multipart.parse_form(raw or b"", headers.get("content-type", ""))
        # The journal keeps every request: for a large form, its parsed fields suffice.
        raw = raw if raw and (len(raw) <= MAX_FORM_KEPT or not body) else b""
    elif raw is not None and (operation.body_schema or ((operation.takes_json or operation.is_form_or_json) and raw)):
        body, fault = parse_body(raw)
    elif operation.body_schema and body is None:
        body = {}
    typed_query = coerce_query(query, schema.load(operation.query_schema)) if operation.query_schema else query
    return Request(
        operation.method,
        place.endpoint_path,
        headers,
        typed_query,
        body,
        raw or b"",
        params,
        operation.id,
        None if fault else operation.body_schema or operation.query_schema,
        fault,
        place.dialect,
        place.root,
    )
