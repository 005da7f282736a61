"""The table of models against recorded traffic: a family that is switched off makes its recorded refusals go unmade."""

from __future__ import annotations

from functools import cache

from harness.api.models import MODELS, Model
from harness.cassettes.format.recorded import Recorded
from harness.verify.judging.judge import judge
from harness.verify.judging.verdict import VerdictKind
from harness.world.world import World
from tests.support.shared import READS_RECORDINGS, RECORDINGS, recordings
from tools.model_facts_met import count_met_facts

pytestmark = READS_RECORDINGS

ABOUT_MODELS = (
    "Unsupported ",
    "logprobs are",
    "`reasoning.mode`",
    "Model not found",
    "Deep research",
    "The requested model",
)
LEAST_RIGHT = 0.9
"""The least share of what recordings show that is as the table says."""


@cache
def refusals() -> tuple[Recorded, ...]:
    """Return the recorded refusals that are about the model."""
    everything = (one for one in recordings() if one.status in (400, 404))
    about = (one for one in everything if message(one).startswith(ABOUT_MODELS) and "odel" in message(one))
    return tuple(one for one in about if family(one))


def message(recorded: Recorded) -> str:
    error = recorded.answer.get("error") if isinstance(recorded.answer, dict) else None
    return str(error.get("message")) if isinstance(error, dict) else ""


def family(recorded: Recorded) -> Model | None:
    body = recorded.request
    return MODELS.find(str(body.get("model"))) if isinstance(body, dict) else None


def is_made(recorded: Recorded, *, without: str = "") -> bool:
    """Tell whether the mock makes a refusal in the recorded words, with or without a family."""
    world = World()
    if without:
        world.models = MODELS.with_family(Model(without, without, name_only=True))
    return any(verdict.kind is VerdictKind.REFUSAL_SAME for verdict in judge(recorded, world))


def test_every_recorded_refusal_about_a_model_is_made() -> None:
    assert [one.id for one in refusals() if not is_made(one)] == []
    assert len(refusals()) > 120


def test_a_family_that_is_switched_off_makes_its_recordings_fail() -> None:
    about = [(one, found.name) for one in refusals() if (found := family(one))]
    assert {name for one, name in about if is_made(one, without=name)} == set()
    assert len({name for _, name in about}) > 30


def test_what_the_table_says_of_defaults_is_what_answers_show() -> None:
    met = count_met_facts(list(RECORDINGS))
    wrong = {fact: (right, seen) for fact, (seen, right) in met.items() if right < LEAST_RIGHT * seen and seen}
    assert wrong == {}
    assert met["efforts"][0] > 1000
