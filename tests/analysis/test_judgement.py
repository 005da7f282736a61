"""How losses are judged outside of pytest: `fail`, `allow`, `strict`, or ids of what is allowed."""

import pytest

from harness.analysis import loss
from harness.analysis.history.sent_items import collect_sent
from harness.analysis.judgement import LossPolicy, read_loss_policy
from harness.analysis.loss import PROMPT, REPLY, TEXT, assistant, sketch
from harness.core.errors import ConfigError
from harness.core.exchange import Exchange
from harness.report.judge_world import Permitted, judge_world
from tests.support.in_process import Client


@pytest.fixture
def journal() -> list[Exchange]:
    """A conversation that has lost its instructions, which may be intended, and has doubled a text."""
    client = Client()
    client.mock.script(REPLY, "Done.", "Done.")
    client.ask([PROMPT], instructions="You plan.")
    client.ask(sketch("P", assistant(TEXT + TEXT), "N"), instructions="You plan.")
    client.ask(sketch("P A N"))
    return client.world.exchanges


@pytest.mark.parametrize(
    ("text", "failing"),
    [
        ("fail", {"text-altered"}),
        ("allow", set()),
        ("strict", {"text-altered", "instructions-omitted"}),
        ("text-altered", set()),
        ("citation-dropped, order-changed", {"text-altered"}),
    ],
)
def test_a_policy_says_which_losses_fail(journal: list[Exchange], text: str, failing: set[str]) -> None:
    policy = read_loss_policy(text)
    assert {lost.loss for lost in policy.find_failing(policy.find(journal), journal)} == failing


@pytest.mark.parametrize("option", ["fail", "strict", "allow"])
def test_a_world_is_searched_for_losses_once(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    searches = []
    monkeypatch.setattr(loss, "collect_sent", lambda *sent: searches.append(sent) or collect_sent(*sent))
    client = Client()
    client.mock.script(REPLY)
    client.ask([PROMPT])
    judged = judge_world(client.mock, Permitted(losses=LossPolicy(option)))
    assert (judged.verdict, judged.losses, len(searches)) == ("", [], 1)


def test_by_default_losses_fail_that_can_be_no_intention() -> None:
    assert read_loss_policy("fail") == LossPolicy()
    assert (LossPolicy().is_judged, LossPolicy("allow").is_judged) == (True, False)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("text-altred", "Did you mean 'text-altered'?"),
        ("", "`responses-harness losses` lists them."),
        ("text-altered,", "`responses-harness losses` lists them."),
        ("strict,text-altered", ""),
        ("STRICT", ""),
    ],
)
def test_another_text_is_an_error_that_says_what_to_give(text: str, near: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_loss_policy(text)
    assert f"losses {text!r}: use fail, allow, strict, or a comma-separated list of losses. {near}" in str(error.value)
