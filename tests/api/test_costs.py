"""What answers cost: published prices, each with two sources, by model and day."""

import re

import pytest

from harness.api.costs import Price, find_cost, find_cost_of, find_price
from harness.api.http.dialects import PROVIDERS
from harness.api.model_facts import read_table, split_source
from harness.core.exchange import Answer, Exchange, Json, Request

DAY = "2026-11-22"


def answer(model: str = "gpt-6-sol", read: int = 1_000_000, said: int = 0, **details: object) -> Json:
    counted = {"input_tokens": read, "output_tokens": said, "input_tokens_details": details}
    return {"model": model, "service_tier": "default", "usage": counted}


def test_each_price_has_two_sources_and_belongs_to_a_model() -> None:
    known = {name for facts in read_table()["families"].values() for name in facts["names"][0]}
    for name, (rows, *sources) in read_table()["prices"].items():
        assert name in known, name
        assert len({split_source(source)[1] for source in sources}) >= 2, name
        prices = [Price(*row) for row in rows]
        assert [price.since for price in prices] == sorted({price.since for price in prices}, reverse=True), name
        for price in prices:
            assert re.fullmatch(r"|\d{4}-\d\d-\d\d", price.since), name
            assert 0 < price.cached <= price.input <= price.written <= 1.25 * price.input < price.output, name


@pytest.mark.parametrize(
    ("model", "day", "input"),
    [
        ("gpt-5.6-sol", DAY, 4),
        ("gpt-5.6-sol", "2026-08-20", 5),
        ("gpt-4o-2024-08-06", DAY, 2.5),
        ("gpt-4o-2024-05-13", DAY, 5),
    ],
)
def test_a_price_is_that_of_the_model_on_the_day(model: str, day: str, input: float) -> None:
    price = find_price(model, day)
    assert price is not None
    assert price.input == input


@pytest.mark.parametrize(("model", "day"), [("gpt-6.2-astra", DAY), ("my-model", DAY), ("o3", "2025-06-09")])
def test_a_price_without_two_sources_is_unknown(model: str, day: str) -> None:
    assert find_price(model, day) is None
    assert find_cost(answer(model), day) is None


def test_what_is_read_from_the_cache_and_written_to_it_has_its_own_price() -> None:
    assert find_cost(answer(), DAY) == pytest.approx(4)  # a long input costs twice as much
    assert find_cost(answer(read=100_000), DAY) == pytest.approx(0.2)
    assert find_cost(answer(read=100_000, cached_tokens=100_000), DAY) == pytest.approx(0.02)
    assert find_cost(answer(read=100_000, cache_write_tokens=100_000), DAY) == pytest.approx(0.25)
    kept = {"ttl_12h_tokens": 40_000, "ttl_30m_tokens": 60_000}
    counts = {"cache_write_tokens": 100_000, "cache_write_tokens_details": kept}
    assert find_cost(answer(read=100_000, **counts), DAY) == pytest.approx(0.06 * 2.5 + 0.04 * 5)
    assert find_cost(answer(read=0, said=100_000), DAY) == pytest.approx(1)
    assert find_cost(answer(read=272_001, said=100_000), DAY) == pytest.approx(0.272001 * 4 + 1.5)


def test_only_an_answer_of_openai_has_its_price() -> None:
    made = [Exchange(1, Request("POST", "/responses", dialect=dialect), Answer(200, answer())) for dialect in PROVIDERS]
    assert [find_cost_of(exchange, DAY) for exchange in made] == [find_cost(answer(), DAY), None, None]


@pytest.mark.parametrize(
    "changed",
    [
        {"usage": None},
        {"usage": {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}},
        answer(cached_tokens=None),
        {"service_tier": "priority"},
    ],
    ids=["no usage", "a run of an assistant", "no count", "another tier"],
)
def test_the_cost_of_anything_else_is_unknown(changed: Json) -> None:
    assert find_cost({**answer(), **changed}, DAY) is None
