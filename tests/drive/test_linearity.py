"""Requests that grow by one turn at a time, and the first that does not."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.exchange import Answer, Exchange
from harness.core.exchange import Request as Asked
from harness.drive import linear
from tests.support.in_process import user


def journal(*inputs: Any, said: str = "ok", path: str = "/responses") -> list[Exchange]:
    """Requests with these inputs, each answered with these words."""
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}]
    return [
        Exchange(
            number, Asked("POST", path, body={"model": "gpt-4.1", "input": input}), Answer(200, {"output": output})
        )
        for number, input in enumerate(inputs, 1)
    ]


OK = {"role": "assistant", "content": "ok"}


IMAGE = {"role": "user", "content": [{"type": "input_image", "image_url": "https://e.org/a.png"}]}


class TestLinear:
    @pytest.mark.parametrize(
        "inputs",
        [
            ([user("yes")], [user("yes"), OK, user("yes")], [user("yes"), OK, user("yes"), OK, user("yes")]),
            ([user("a"), OK, user("a"), OK, user("b")],),
            ("a", [user("a"), OK, user("b")]),
            ([user("a")], [user("a")], [user("b")]),
            ([IMAGE], [IMAGE, OK, user("b")]),
            (7, [7]),
        ],
    )
    def test_linear_is_what_grows_by_a_turn(self, inputs: Any) -> None:
        linear(journal(*inputs))

    @pytest.mark.parametrize(
        ("inputs", "problem"),
        [
            (([user("a"), user("a")],), 'request 1: input[1] appears twice: user "a"'),
            (
                ([user("a")], [user("a"), OK, user("a"), OK, user("b")]),
                'request 2: input[2] appears twice: user "a"',
            ),
            (([user("")],), "request 1: input[0] is an empty message: user"),
            (([user([])],), "request 1: input[0] is an empty message: user"),
            (([user([{"type": "input_text", "text": " "}])],), "request 1: input[0] is an empty message: user"),
            (
                ([user("a")], [user("x"), OK, {**OK, "content": "x"}, OK | {"content": "y"}, user("b")]),
                "but at most 3 were expected",
            ),
        ],
    )
    def test_linear_is_not_what_has_more(self, inputs: Any, problem: str) -> None:
        with pytest.raises(AssertionError) as raised:
            linear(journal(*inputs))
        assert problem in str(raised.value)

    def test_counts_no_other_requests(self) -> None:
        linear(journal([user("")], path="/conversations"))

    def test_counts_texts_of_several_lines_as_whole_lines(self) -> None:
        linear(journal([user("a b\na")]), ["a b\na"])
        linear(journal([user("a\nb\na\nb")]), ["a\nb", "a\nb"])
        with pytest.raises(AssertionError, match="appears 2 times, but was sent 1 time"):
            linear(journal([user("a\nb\na\nb")]), ["a\nb"])
