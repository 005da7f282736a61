"""The errors of a Foundry project's own service, which contain the id of their request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.api.project_types import PROJECT_ERROR_FORM
from harness.core.errors import REQUEST_ID, ApiError
from harness.core.exchange import Json

ID_IN_MESSAGE_SINCE = "2026-04-28"
"""The first day on which a message ends with the id of its request.

Recorded without it up to 2026-04-15, with it from 2026-05-19 on, of toolboxes, skills, sessions and responses; reported
of other errors since this day (promptfoo issue 8959, foundry-for-vscode issue 589, a client that was tried on a live
project).
"""


def project_error(
    status: int,
    message: str,
    param: str | None = None,
    code: str = "invalid_payload",
    type: str = "invalid_request_error",
) -> ApiError:
    """Return an error of a Foundry project's own service."""
    return ApiError(status, message, param, code, type, body_template=PROJECT_ERROR_FORM)


def project_not_found(message: str) -> ApiError:
    """Return the error for something that a project does not have; recorded: it has no `param`."""
    members = {name: value for name, value in PROJECT_ERROR_FORM["error"].items() if name != "param"}
    return ApiError(404, message, None, "not_found", "error", body_template={"error": members})


INVALID_PAYLOAD = ApiError(
    400,
    "Invalid payload",
    code="invalid_payload",
    body_template={"error": {**PROJECT_ERROR_FORM["error"], "details": "{details}"}},
)
"""Several faults of one request, listed in `details`; a single fault is an error of its own."""


_UNKNOWN_ID: Json = {"request_id": REQUEST_ID}
_ID_HOLDERS = ("additionalInfo", "additional_info")


def single_fault_before(message: str, param: str) -> Json:
    """Return the body of an error with a single fault as up to 2026-04: in the `details` (recorded 2025-10-29)."""
    detail = {"code": "ValidationError", "message": message, "target": param, "details": []}
    said = {"code": "{code}", "message": "{message}", "details": [detail]}
    return {"error": {**said, "additional_info": {"request_id": REQUEST_ID}}}


def validation_detail(message: str, param: str) -> Json:
    """Return one of several faults, as in the `details` of an error."""
    return {"code": "ValidationError", "message": message, "param": param, "type": "error"}


def without_param(error: ApiError) -> ApiError:
    """Return an error of a project without `param`, as some of its services send it."""
    template = error.body_template or PROJECT_ERROR_FORM
    form = {name: value for name, value in template["error"].items() if name != "param"}
    return replace(error, body_template={"error": form})


def with_request_id(body: Any, request_id: str, day: str) -> Any:
    """Return the body of an error with the id of its request, in its form on a day; any other body unchanged."""
    error = body.get("error") if isinstance(body, dict) else None
    name = next((holder for holder in _ID_HOLDERS if isinstance(error, dict) and error.get(holder) == _UNKNOWN_ID), "")
    if not isinstance(error, dict) or not name:
        return body
    ending = f" [Request ID: {request_id}]" if day >= ID_IN_MESSAGE_SINCE else ""
    return {**body, "error": {**error, "message": f"{error['message']}{ending}", name: {"request_id": request_id}}}
