"""The samples that are mutated elsewhere are right, and hold every kind the schema knows."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.contract import ordered_validator, schema
from harness.core.exchange import Json
from tests.contract.evidence.samples.mutate import places
from tests.contract.evidence.samples.requests import NAMED, REQUESTS
from tests.contract.evidence.samples.stored import continuing, fresh, post, remembering
from tests.support.slow import slow_except_every

CONTINUING = list(continuing())


@pytest.mark.parametrize("body", slow_except_every(3, REQUESTS), ids=range(len(REQUESTS)))
def test_a_sample_is_accepted(body: Json) -> None:
    answer = post(fresh(), body)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("body", CONTINUING, ids=range(len(CONTINUING)))
def test_a_sample_that_continues_is_accepted_by_a_mock_that_remembers(body: Json) -> None:
    answer = post(remembering(), body)
    assert answer.status == 200, answer.body


def test_the_samples_hold_every_kind_the_schema_knows() -> None:
    whole = schema.load("CreateResponse")
    branches = [branch for union in unions(whole) for branch in union]
    kinds = {tuple(ordered_validator.discriminator_values(whole, branch, "type")) for branch in branches}
    assert [kind for kind in kinds if kind and not set(kind) & set(NAMED)] == []


def unions(node: Any) -> Iterator[list[Json]]:
    """Yield the branches of every union in a schema."""
    for _, part in places(node):
        if isinstance(part, dict) and "anyOf" in part:
            yield part["anyOf"]
