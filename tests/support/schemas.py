"""Documents that the harness writes, checked with the published schemas of their formats."""

import json
from functools import cache
from typing import Any

import jsonschema_rs

from harness.contract.schema import schemas_directory


def assert_conforms(document: Any, name: str) -> None:
    """Assert that a document is as the schema `schemas/NAME.json` says."""
    assert [f"{error.instance_path}: {error.message}" for error in _validator(name).iter_errors(document)] == []


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json.loads((schemas_directory() / f"{name}.json").read_text(encoding="utf-8")))
