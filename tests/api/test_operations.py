"""The operation that a method and a path name."""

import pytest

import harness.foundry  # noqa: F401  (registers every operation)
from harness.api.operations import find_operation


@pytest.mark.parametrize(
    ("method", "path", "id", "params"),
    [
        ("POST", "/responses", "POST /responses", {}),
        ("POST", "/responses/compact", "POST /responses/compact", {}),
        ("GET", "/responses/compact", "GET /responses/{response_id}", {"response_id": "compact"}),
        ("DELETE", "/responses/resp_1", "DELETE /responses/{response_id}", {"response_id": "resp_1"}),
    ],
)
def test_a_literal_path_precedes_a_template_for_its_own_methods_alone(
    method: str, path: str, id: str, params: dict[str, str]
) -> None:
    operation, found, exists = find_operation(method, path)
    assert operation is not None
    assert (operation.id, found, exists) == (id, params, True)


@pytest.mark.parametrize(("method", "path", "exists"), [("PUT", "/responses/resp_1", True), ("GET", "/answers", False)])
def test_a_path_may_exist_for_other_methods_only(method: str, path: str, exists: bool) -> None:
    assert find_operation(method, path) == (None, {}, exists)
