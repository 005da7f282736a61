"""The padding of text deltas: noise from a place that the id of the item and the number of the event decide."""

from __future__ import annotations

from hashlib import blake2b
from zlib import crc32

import pytest

from harness.answers.stream import render_events
from harness.core.ids import ALPHANUMERIC_TABLE
from harness.items import message
from tests.support.streams import response

NOISE = b"".join(blake2b(b"%d" % n).digest() for n in range(65)).translate(ALPHANUMERIC_TABLE).decode()


@pytest.mark.parametrize("words", [1, 300, 5_000])
def test_the_padding_is_noise_from_a_place_that_the_id_and_the_number_decide(words: int) -> None:
    said = response(message([f"word{n} "[: n % 9] for n in range(words)]))
    start = crc32(said["output"][0]["id"].encode()) % 16 * 256
    deltas = [event for event in render_events(said) if event["type"].endswith(".delta")]
    for event in deltas:
        place = (start + 61 * event["sequence_number"]) % 4096
        assert event["obfuscation"] == NOISE[place : place + -len(event["delta"]) % 16]
