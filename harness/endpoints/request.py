"""A request as the contract checks it, from its parts: the same for a served request and a recorded one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.api.http import multipart
from harness.api.http.body import coerce_query, parse_body
from harness.api.http.dialects import ApiPath
from harness.api.operations import Operation, find_operation
from harness.contract import schema
from harness.core.exchange import EMPTY_MAPPING, JsonFault, ReceivedRequest, Request

MAX_FORM_KEPT = 1 << 20
"""Bytes of the largest form that the journal keeps as it was received; of a larger one it keeps the fields."""


def read_request(received: ReceivedRequest, place: ApiPath) -> Request:
    """Read a request to a place, of any operation."""
    method, _, headers, query, raw, form = received
    dialect, root, below = place
    operation, params, known = find_operation(method, below, root) if root else (None, {}, False)
    if operation is None:
        reason = "wrong method" if known else "unknown URL" if root else "outside the API"
        return Request(method, below, headers, query, raw=raw, operation=reason, dialect=dialect, root=root)
    kind = headers.get("content-type", "")
    reads_form = operation.reads_form(kind)
    # A large form has been read already, from the connection to the disk; a small one comes as bytes.
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
    """Make a request of an operation: its body parsed, its query typed as the operation's schema says.

    `params` is what the operation's template took from the path, `query` holds texts. `raw` is None when the bytes of the
    body are not known; then `body` is what is known of it. A form may have been parsed before: that is its
    `body`. Header names are lower case.
    """
    fault = None
    if operation.reads_form(headers.get("content-type", "")):
        if body is None or raw is None:
            body = multipart.parse_form(raw or b"", headers.get("content-type", ""))
        # The journal keeps every request: of a large form its parsed fields are enough.
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
