"""What scrubbing costs grows with the text and nothing else, whatever somebody made a tool or a model say."""

import pytest

from harness.cassettes.scrubbing.mask_text import Masker
from tests.support.cpu_time import cpu_time

KIB = 1024
TEXTS = {
    "a name and many spaces": '"api_key" ' + " " * 2 * KIB,
    "a name and many tabs": "setenv API_KEY" + "\t" * 2 * KIB,
    "cookies without a value": "cookie: " * 8 * KIB,
    "a starred key of hyphens": "*" + "sk-" * 24 * KIB,
    "one long word": 'key "' + "_" * 64 * KIB,
    "quotes": 'key="' + '\\"' * 32 * KIB,
    "names and signs": "api_key=" * (KIB // 4),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_text_takes_long(text):
    with cpu_time() as spent:
        assert Masker().mask_text(text) == text
    assert spent.seconds < 2
