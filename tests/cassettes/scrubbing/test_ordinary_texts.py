"""Ordinary texts stay as they are: scrubbing may change at most one of a thousand."""

import json

import pytest

from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.cassettes.scrubbing.mask_text import Masker
from tests.support.recordings import over_http
from tests.support.slow import slow_except_every
from tests.support.texts.ordinary_texts import CODE, PHRASES, make_ordinary_texts

TEXTS = make_ordinary_texts()


@pytest.mark.parametrize("text", slow_except_every(4, [*PHRASES, *CODE]))
def test_an_ordinary_text_stays(text):
    assert Masker().mask_text(text) == text


def test_at_most_one_of_a_thousand_ordinary_texts_changes():
    assert len(set(TEXTS)) == 1000
    masker = Masker()
    assert len([text for text in TEXTS if masker.mask_text(text) != text]) <= 1


def test_neighbouring_parts_stay_too():
    parts = [{"type": "input_text", "text": text} for text in TEXTS if not text.startswith("data:")]
    (clean,) = scrub_interactions([over_http({"input": [{"role": "user", "content": parts}]}, {})])
    written = json.loads(clean.body)["input"][0]["content"]
    assert len([part for part, text in zip(parts, written, strict=True) if part != text]) <= 1
