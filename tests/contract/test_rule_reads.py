"""What rules read is what they declare, so that a rule may be asked once for all requests that share that."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.contract.rule import RULES, assumed, rule
from harness.contract.rule_plan import forget_plans
from harness.core.account import Organization
from harness.core.errors import ApiError
from harness.core.exchange import Json
from harness.verify.examples import play_case
from harness.verify.judge_files import verify_recordings
from harness.world.world import World, WorldOptions
from tests.support.rule_examples import BODIES, CASES, request_for
from tests.support.shared import PRESENT, RECORDINGS
from tests.support.watched_rules import Excesses, excesses

__all__ = ["excesses"]


class TestEveryRule:
    @pytest.mark.slow
    def test_every_rule_reads_what_it_declares_in_all_examples(self, excesses: Excesses) -> None:
        for case in CASES:
            play_case(case)
        assert excesses == {}
        assert excesses.watched == {declared.id for declared in RULES.values() if declared.reads is not None}

    @pytest.mark.slow
    @pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")
    def test_every_rule_reads_what_it_declares_in_recordings(self, excesses: Excesses, tmp_path: Path) -> None:
        assert verify_recordings(RECORDINGS, tmp_path).counts["exchanges"] > 6000
        assert excesses == {}

    @settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(bodies=st.lists(st.sampled_from(BODIES), min_size=1, max_size=5), limited=st.booleans(), azure=st.booleans())
    def test_every_rule_reads_what_it_declares_in_mixed_examples(
        self, excesses: Excesses, bodies: list[Json], limited: bool, azure: bool
    ) -> None:
        world = World(options=WorldOptions(organization=Organization(verified=not limited)))
        check(WorldCall(request_for(*bodies, dialect="azure" if azure else "openai"), world))
        assert excesses == {}


class TestARuleThatDeclaresLess:
    @pytest.fixture
    def lie(self, registry: None) -> Callable[[Any], None]:
        """Register a rule that declares `model` alone."""

        def register(liar: Any) -> None:
            liar.__name__, liar.__doc__ = "liar", "A rule that reads more than it says."
            rule(ApiError(400, "No."), assumed("a test"), reads="model", rejects={})(liar)
            forget_plans()

        return register

    @pytest.mark.parametrize(
        ("read", "excess"),
        [
            (lambda request: request.body["model"], set()),
            (lambda request: request.body.get("metadata"), {"metadata"}),
            (lambda request: "tools" in request.body, {"tools"}),
            (lambda request: {**request.body}["model"], {"*", "model", "input"}),
            (lambda request: request.headers.get("openai-beta"), {"request.headers.openai-beta"}),
            (lambda request: request.raw, {"request.raw"}),
            (lambda request: request.operation, set()),
        ],
    )
    def test_a_rule_that_declares_less_is_noticed_by_what_it_reads_of_the_request(
        self, lie: Any, excesses: Excesses, read: Any, excess: set[str]
    ) -> None:
        def liar(request):
            read(request)
            yield from ()

        lie(liar)
        check(WorldCall(request_for(), World()))
        assert excesses.get("liar", set()) == excess - {"model"}

    def test_a_rule_that_declares_less_is_noticed_by_what_it_reads_of_the_world(
        self, lie: Any, excesses: Excesses
    ) -> None:
        def liar(world, transcript):
            if transcript.items and world.store.items:
                yield {}

        lie(liar)
        check(WorldCall(request_for(), World()))
        assert excesses == {"liar": {"transcript", "world.store"}}

    def test_a_rule_that_declares_less_is_noticed_where_it_reads_past_the_watch(
        self, lie: Any, excesses: Excesses
    ) -> None:
        def liar(request):
            yield {"body": orjson.dumps(request.body)}

        lie(liar)
        check(WorldCall(request_for(), World()))
        assert excesses == {"liar": {"(something past its watch)"}}
