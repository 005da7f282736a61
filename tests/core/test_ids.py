import re

import pytest

from harness.core.ids import Ids, is_project_id

NOW = 1788812320
HEX_TIME = "6a9f1c20"


@pytest.fixture
def ids():
    return Ids("a test")


def made(ids):
    response = ids.response(NOW)
    return [response, ids.item("msg", response, NOW), ids.call(), ids.request(), ids.conversation(), ids.message()]


def test_the_same_seed_and_calls_give_the_same_ids():
    assert made(Ids("a test")) == made(Ids("a test"))


def test_other_seeds_give_other_ids():
    assert not set(made(Ids("a test"))) & set(made(Ids("another test")))


def test_no_id_is_given_out_twice(ids):
    given = [id for _ in range(500) for id in made(ids)]
    assert len(set(given)) == len(given)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda ids: ids.response(NOW), rf"resp_[0-9a-f]{{16}}00{HEX_TIME}[0-9a-f]{{24}}"),
        (lambda ids: ids.item("fc", ids.response(NOW), NOW), rf"fc_[0-9a-f]{{16}}00{HEX_TIME}[0-9a-f]{{24}}"),
        (lambda ids: ids.call(), r"call_[0-9A-Za-z]{24}"),
        (lambda ids: ids.request(), r"req_[0-9a-f]{32}"),
        (lambda ids: ids.conversation(), r"conv_[0-9a-f]{48}"),
        (lambda ids: ids.message(), r"msg_[0-9A-Za-z]{24}"),
        (lambda ids: ids.hex("vs_", 32), r"vs_[0-9a-f]{32}"),
        (lambda ids: ids.alphanumeric("file-", 22), r"file-[0-9A-Za-z]{22}"),
    ],
)
def test_each_id_has_the_shape_of_the_api(ids, make, shape):
    for _ in range(20):
        assert re.fullmatch(shape, make(ids))


def tail(given):
    return given.split("_")[1]


def test_items_share_the_first_18_digits_of_their_response(ids):
    first, second = ids.response(NOW), ids.response(NOW)
    assert tail(ids.item("msg", first, NOW))[:18] == tail(first)[:18]
    assert tail(ids.item("rs", second, NOW))[:18] == tail(second)[:18]


def test_an_item_keeps_the_turn_of_a_recorded_response(ids):
    recorded = "resp_0b3f6c1d2e4a597801" + "6a9f1c20" + "0" * 24
    assert tail(ids.item("msg", recorded, NOW)).startswith("0b3f6c1d2e4a597801")


def test_a_response_that_continues_another_keeps_its_partition(ids):
    parent = ids.response(NOW)
    child = ids.response(NOW + 1, parent)
    assert tail(child)[:18] == tail(parent)[:18]
    assert child != parent
    assert tail(ids.response(NOW))[:16] != tail(parent)[:16]


@pytest.mark.parametrize("parent", ["resp_1", "resp_" + "a" * 48, "", None])
def test_a_parent_without_partition_starts_a_new_one(ids, parent):
    assert re.fullmatch(r"resp_[0-9a-f]{50}", ids.response(NOW, parent))


def test_items_below_a_made_up_response_id_share_a_partition(ids):
    first, second = ids.item("msg", "resp_1", NOW), ids.item("msg", "resp_1", NOW)
    assert tail(first)[:18] == tail(second)[:18]
    assert first != second


def test_text_that_is_no_unicode_can_be_a_seed():
    assert made(Ids("\ud83d")) != made(Ids(""))


def test_the_ids_of_a_project_have_a_form_of_their_own() -> None:
    ids = Ids("s")
    assert [is_project_id(id) for id in (ids.project_conversation(), ids.conversation())] == [True, False]
