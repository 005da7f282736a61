"""Every fact of the table that says no makes a refusal in the API's words; without the fact the request is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, NamedTuple

import pytest

from harness.api.models import MODELS, Model, Models
from harness.contract.check import Violation, check
from harness.contract.phrasing import quote_and_join
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Request
from harness.world.options import WorldOptions
from harness.world.world import World
from tests.support.slow import slow_except_every

REQUEST = Request(
    "POST",
    "/responses",
    {"authorization": "Bearer sk-test", "content-type": "application/json"},
    operation="POST /responses",
    schema="CreateResponse",
)
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
TOOLS: dict[str, dict[str, Any]] = {
    "file_search": {"vector_store_ids": ["vs_1"]},
    "code_interpreter": {"container": {"type": "auto"}},
    "computer_use_preview": {"display_height": 1, "display_width": 1, "environment": "mac"},
}
DEFERRED = {"type": "function", "name": "f", "parameters": {}, "strict": False, "defer_loading": True}
FORMAT = {"type": "json_schema", "name": "out", "schema": {"type": "object", "properties": {}}, "strict": False}


class Refusal(NamedTuple):
    """A request that a family refuses, the API's words, and the same family without the fact behind it."""

    family: Model
    body: dict[str, Any]
    message: str
    without: Model


def refusals() -> Iterator[Refusal]:
    for family in MODELS.values():
        if family.served and not family.name_only:
            yield from refused_options(family)
            yield from refused_tier(family)
            yield from refused_truncation(family)
            yield from refused_tools(family)


def refused_tier(family: Model) -> Iterator[Refusal]:
    if not family.flex:
        older = "Invalid service_tier argument"
        message = "Flex is not available for this model." if family.name.startswith("gpt-5") else older
        yield Refusal(family, {"service_tier": "flex"}, message, replace(family, flex=True))


def refused_truncation(family: Model) -> Iterator[Refusal]:
    if family.truncations:
        words = f"Computer model {family.name} should be used with 'truncation=auto', found 'truncation=disabled'."
        yield Refusal(family, {"truncation": "disabled"}, words, replace(family, truncations=()))


def refused_options(family: Model) -> Iterator[Refusal]:
    for member, value, values, field in (
        *(("reasoning.effort", effort, family.efforts, "efforts") for effort in EFFORTS),
        *(("reasoning.context", context, family.contexts, "contexts") for context in ("auto", "all_turns")),
        *(("reasoning.summary", kind, family.summary_values, "summary_values") for kind in ("concise", "detailed")),
        *(("text.verbosity", word, family.verbosities, "verbosities") for word in ("low", "medium", "high")),
    ):
        if values and value not in values:
            holder, _, name = member.partition(".")
            words = f"Supported values are: {quote_and_join(values, 'and')}."
            message = f"Unsupported value: '{value}' is not supported with the '{family.name}' model. {words}"
            everything = (*values, value) if field == "verbosities" else ()
            yield Refusal(family, {holder: {name: value}}, message, replace(family, **{field: everything}))
    for mode in ("standard", "pro"):
        if family.modes and mode not in family.modes:
            message = "`reasoning.mode` is not supported with this model."
            yield Refusal(family, {"reasoning": {"mode": mode}}, message, replace(family, modes=()))
    if family.sampling == "never":
        message = "Unsupported parameter: 'top_p' is not supported with this model."
        yield Refusal(family, {"top_p": 0.5}, message, replace(family, sampling="unknown"))
    if not family.images:
        message = (
            f"Model '{family.name}' does not support image inputs. Try again with a vision model. To find out which "
        )
        message += (
            "models are vision-enabled, visit our our models documentation: https://platform.openai.com/docs/models"
        )
        image = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}
        body = {"input": [{"role": "user", "content": [image]}]}
        yield Refusal(family, body, message, replace(family, images=True))
    if not family.schemas:
        message = "Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version "
        yield Refusal(family, {"text": {"format": FORMAT}}, f"{message}`{family.name}`.", replace(family, schemas=True))


def refused_tools(family: Model) -> Iterator[Refusal]:
    if family.needs_tools:
        message = f"Deep research models require at least one of {quote_and_join(family.needs_tools, 'or')} tools."
        yield Refusal(family, {"top_p": 0.5, "tools": []}, message, replace(family, needs_tools=(), sampling="unknown"))
        return
    for kind in sorted(family.lacks):
        tools = [{"type": kind, **TOOLS.get(kind, {})}, *([DEFERRED] if kind == "tool_search" else [])]
        message = f"Tool '{kind}' is not supported with {family.name}."
        yield Refusal(family, {"tools": tools}, message, replace(family, lacks=frozenset()))


def judge(body: dict[str, Any], family: Model) -> Violation | None:
    """Return what a World that knows this family says on the family's last day."""
    end = family.gone or family.removed
    last = (date.fromisoformat(end) - timedelta(days=1)).isoformat() if end else CONTRACT_DATE
    world = World(options=WorldOptions(as_of=last))
    world.models = MODELS.with_family(family)
    search = {"type": "file_search", **TOOLS["file_search"]}
    tools = {"tools": [search]} if family.needs_tools and "tools" not in body else {}
    truncation = {"truncation": family.truncations[0]} if family.truncations else {}
    return check(REQUEST._replace(body={"model": family.name, "input": "JSON!", **tools, **truncation, **body}), world)


ALL = list(refusals())


@pytest.mark.parametrize("refusal", slow_except_every(6, ALL), ids=lambda each: f"{each.family.name}-{each.body}")
def test_what_the_table_denies_is_refused_and_nothing_else_refuses_it(refusal: Refusal) -> None:
    found = judge(refusal.body, refusal.family)
    assert found is not None
    assert (found.error.message, found.error.status) == (refusal.message, 400)
    assert judge(refusal.body, refusal.without) is None


def test_the_table_denies_a_lot() -> None:
    assert len(ALL) > 250
    assert len({each.family.name for each in ALL}) > 40


@pytest.mark.parametrize(
    "family", [each for each in MODELS.values() if each.served and each.found], ids=lambda each: each.name
)
def test_what_the_table_grants_is_taken(family: Model) -> None:
    for member, values in (
        ("effort", family.efforts),
        ("mode", family.modes),
        ("context", family.contexts),
        ("summary", ("auto", *family.summary_values) if family.summaries else ()),
    ):
        for value in values:
            assert judge({"reasoning": {member: value}}, family) is None, (member, value)
    for value in family.verbosities:
        assert judge({"text": {"verbosity": value}}, family) is None, value


@pytest.mark.parametrize("family", [each for each in MODELS.values() if each.gone], ids=lambda each: each.name)
def test_a_model_is_there_until_the_day_it_is_gone(family: Model) -> None:
    tools = [{"type": "web_search_preview"}] if family.needs_tools else []
    truncation = {"truncation": family.truncations[0]} if family.truncations else {}
    body = {"model": family.name, "input": "hi", "tools": tools, **truncation}
    request = REQUEST._replace(body=body)
    gone = check(request, World())
    assert gone is not None
    assert (gone.error.status, gone.error.message, gone.error.code) == (404, f"Model not found {family.name}", None)
    before = (date.fromisoformat(family.gone) - timedelta(days=1)).isoformat()
    assert check(request, World(options=WorldOptions(as_of=before))) is None


def test_of_an_unlisted_model_everything_is_taken() -> None:
    world = World()
    world.models = Models(())
    for refusal in ALL:
        body = {"model": refusal.family.name, "input": "JSON!", **refusal.body}
        assert check(REQUEST._replace(body=body), world) is None
