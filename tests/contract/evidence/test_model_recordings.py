"""The table of models against recorded traffic: what it says of defaults is what answers show.

That recorded refusals hang on its entries is for `test_switched_off.py`.
"""

from __future__ import annotations

from tests.support.shared import READS_RECORDINGS, RECORDINGS
from tools.model_facts_met import count_met_facts

pytestmark = READS_RECORDINGS

LEAST_RIGHT = 0.9
"""The least share of what recordings show that is as the table says."""


def test_what_the_table_says_of_defaults_is_what_answers_show() -> None:
    met = count_met_facts(list(RECORDINGS))
    wrong = {fact: (right, seen) for fact, (seen, right) in met.items() if right < LEAST_RIGHT * seen and seen}
    assert wrong == {}
    assert met["efforts"][0] > 1000
