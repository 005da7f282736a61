"""JSON of others, which may be anything: what is of another type counts as empty."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from harness.core.errors import ScriptError
from harness.core.json_values import (
    as_object,
    as_string,
    dump_model,
    dump_set,
    is_model,
    map_strings,
    objects_in,
    omit,
    pick,
    strings_in,
    without_nulls,
    write_json,
)


@pytest.mark.parametrize("value", [None, 1, True, "text", ["a"], {"a": 1}])
def test_a_value_of_another_type_is_empty(value: object) -> None:
    assert as_object(value) == (value if isinstance(value, dict) else {})
    assert as_string(value) == (value if isinstance(value, str) else "")
    assert objects_in(value) == []


def test_an_object_is_copied_in_part() -> None:
    value: dict[str, int | None] = {"a": 1, "b": None, "c": 3}
    assert list(pick(value, "c", "d", "a").items()) == [("c", 3), ("a", 1)]
    assert omit(value, "a", "d") == {"b": None, "c": 3}
    assert without_nulls(value) == {"a": 1, "c": 3}
    assert value == {"a": 1, "b": None, "c": 3}


def test_a_list_gives_its_objects_alone() -> None:
    assert objects_in([{"a": 1}, None, "b", [{}], {}]) == [{"a": 1}, {}]


def test_strings_are_found_and_changed_wherever_they_are() -> None:
    value = {"a": ["x", 1, {"b": "y"}], "c": None}
    assert list(strings_in(value)) == ["x", "y"]
    assert map_strings(value, str.upper) == {"a": ["X", 1, {"b": "Y"}], "c": None}


class Trip(BaseModel):
    city: str = Field(alias="to")
    days: int = 1


class Broken:
    def model_dump(self, **_: Any) -> Any:
        raise LookupError("no city")


def test_an_object_is_dumped_by_its_aliases_with_its_defaults_or_as_it_came() -> None:
    assert dump_model(Trip(to="Rome")) == {"to": "Rome", "days": 1}
    assert dump_set(Trip(to="Rome")) == {"to": "Rome"}


def test_a_class_is_no_object() -> None:
    assert [is_model(value) for value in (Trip(to="Rome"), Trip, {})] == [True, False, False]


def test_an_object_that_cannot_be_dumped_is_a_mistake_of_the_script() -> None:
    told = r"^Broken\.model_dump\(\) raised LookupError: no city\. Pass its JSON as a dict"
    with pytest.raises(ScriptError, match=told):
        dump_model(Broken())


def test_json_is_written_as_models_write_it() -> None:
    assert write_json("f", {"ort": "Zürich", "n": [1, None]}) == '{"ort":"Zürich","n":[1,null]}'
    assert write_json("f", Trip(to="Rome")) == '{"to":"Rome","days":1}'


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_what_json_has_not_is_a_mistake_of_the_script(value: object) -> None:
    told = r"^arguments of f cannot be serialized to JSON: .* Pass plain JSON values, or a str"
    with pytest.raises(ScriptError, match=told):
        write_json("arguments of f", value)
