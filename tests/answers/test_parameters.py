"""A new parameter is one entry: echo, default, comparison and probe follow from it."""

from collections.abc import Iterator

import pytest

from harness.answers import response
from harness.answers.parameters import ACCOUNT, PARAMETERS, default_parameters, parameter, parameters_decided_by
from harness.answers.response import build_initial_response
from harness.contract import schema
from harness.core.errors import RegistrationError
from harness.live.conformance.questions import minimal_requests
from tests.support.registries import restored

CACHES = (default_parameters, response._default_members)


@pytest.fixture(autouse=True)
def flavour() -> Iterator[None]:
    with restored(PARAMETERS):
        parameter("flavour", echo=str.upper, default="plain", decided_by=[ACCOUNT], example={"flavour": "mint"})
        for cache in CACHES:
            cache.cache_clear()
        yield
    for cache in CACHES:
        cache.cache_clear()


def test_a_response_shows_its_default_in_its_place():
    names = list(build_initial_response({"model": "gpt-4.1"}))
    assert names[:4] == ["id", "object", "created_at", "status"]
    assert names[4:-1] == sorted(names[4:-1])
    assert names[-1] == "metadata"
    assert build_initial_response({"model": "gpt-4.1"})["flavour"] == "plain"


def test_a_response_repeats_it():
    assert build_initial_response({"model": "gpt-4.1", "flavour": "mint"})["flavour"] == "MINT"


def test_a_default_of_the_account_is_not_compared_with_recordings():
    assert "flavour" in parameters_decided_by("account")
    assert "flavour" not in parameters_decided_by("model")


def test_servers_are_asked_about_its_example():
    asked = {name: case.body for area, name, case in minimal_requests() if area == "members"}
    assert asked["flavour"] == {"input": "hi", "flavour": "mint"}


def test_no_parameter_is_declared_twice():
    with pytest.raises(RegistrationError, match="parameter flavour is declared twice"):
        parameter("flavour")


def test_every_parameter_stands_in_the_schema():
    assert set(PARAMETERS) - {"flavour"} <= set(schema.load("CreateResponse")["properties"])
