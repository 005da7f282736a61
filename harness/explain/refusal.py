"""Explains refusals that the test did not expect, and expected refusals that did not come."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.lanes import PROBE_RULES
from harness.analysis.loss import Lost
from harness.api.models import Models
from harness.contract.rule import LEVELS, LIMITED_ACCOUNT, RULES, Rule
from harness.core.exchange import Exchange, answer_error
from harness.core.json_values import as_object
from harness.explain.model import Cause, ReportFinding
from harness.explain.refused_request import describe_refusal, describe_refusal_in_general, explain_request
from harness.world.refusals import ExpectedRefusal
from harness.world.world import World

_OTHER_SERVERS = re.compile(r"(?:/v1)?/(?:(?:props|version|slots|health|info|ping|tags|get_model_info)/?$|api/)")
"""Paths that clients probe on llama.cpp, Ollama, LM Studio, vLLM, SGLang and Text Generation Inference servers."""
MAX_EXPLAINED = 5
"""The maximum number of refusals that are traced to what the client did."""


def refusal_cause(exchange: Exchange, exchanges: Sequence[Exchange], losses: Sequence[Lost], world: World) -> Cause:
    """Explain a refused request: the error, what the client did and sent, the fix, the best source of the rule."""
    cause = explain_request(exchange, exchanges, losses, world.rules)
    if cause.sent in cause.where:
        cause = replace(cause, sent="")
    if not (rule := world.rules.get(exchange.answer.rule or "")):
        return cause
    fix = world.vocabulary.word_fix(_advise(rule, exchange, world.models))
    return replace(cause, fix=fix, source=f"{rule.id}: {describe_sources(rule)[0]}")


def describe_sources(rule: Rule) -> list[str]:
    """Describe each source of a rule in one line, the best evidence first: `reported, https://…, 2026-03-27`."""
    ranked = sorted(rule.sources, key=lambda source: LEVELS.index(source.level))
    return [", ".join(filter(None, [source.level, source.where, source.date])) for source in ranked]


def refusal_causes(
    refused: Sequence[Exchange], explained: Sequence[Exchange], losses: Sequence[Lost], world: World
) -> list[Cause]:
    """Build a cause for each refused request; only those in `explained` are traced to what the client did."""
    traced = {exchange.number for exchange in explained}
    return [
        refusal_cause(exchange, world.exchanges, losses, world)
        if exchange.number in traced
        else Cause(
            describe_refusal(exchange),
            exchange.number,
            "refusal",
            exchange.answer.rule or "",
            general=describe_refusal_in_general(exchange),
        )
        for exchange in refused
    ]


def unasked_causes(world: World, losses: Sequence[Lost]) -> list[Cause]:
    """Explain the unexpected refusals; the first few also say how to expect all of them."""
    if not (unasked := [exchange for exchange in world.refusals.unasked if not _asks_for_other_server(exchange)]):
        return []
    rules = list(dict.fromkeys(exchange.answer.rule or "" for exchange in unasked))
    expect = world.vocabulary.expect_refusals(rules)
    causes = refusal_causes(unasked, unasked[:MAX_EXPLAINED], losses, world)
    return [replace(cause, expect=expect) for cause in causes[:MAX_EXPLAINED]] + causes[MAX_EXPLAINED:]


def probe_causes(world: World) -> list[Cause]:
    """Explain all requests that probe the kind of server as one cause; empty without any."""
    probes = [exchange for exchange in world.refusals.unasked if _asks_for_other_server(exchange)]
    if not probes:
        return []
    asked = dict.fromkeys(f"{probe.request.method} {probe.request.root}{probe.request.path}" for probe in probes)
    requests, were = (
        ("1 request for a path", "was") if len(probes) == 1 else (f"{len(probes)} requests for paths", "were")
    )
    what = f"{requests} that only other servers have {were} refused ({probes[0].status})."
    cause = Cause(
        what,
        probes[0].number,
        "probe",
        where=", ".join(asked),
        fix="This is how the client detects the kind of server. If that is intended, expect it.",
        expect=world.vocabulary.expect_refusals([PROBE_RULES[1]]),
    )
    return [cause]


def absence_cause(expected: ExpectedRefusal) -> Cause:
    """Explain that an expected refusal did not come, and what came instead."""
    return Cause(expected.absence, kind="not_refused", came="\n".join(expected.list_refusals()), fix=expected.name_hint)


def refusal_finding(
    exchange: Exchange, exchanges: Sequence[Exchange], losses: Sequence[Lost], world: World, asked: bool, traced: bool
) -> ReportFinding:
    """Build the finding for a refused request, `traced` to what the client did unless it was expected."""
    error, id = answer_error(exchange), exchange.answer.rule or ""
    expected, param = asked or is_account_rule(id), error.get("param")
    traced = traced and not expected
    return ReportFinding(
        "refusal",
        expected,
        f"{exchange.status} {error.get('message') or 'no reason given'}",
        id,
        exchange.number,
        at=param if isinstance(param, str) else "",
        why=explain_request(exchange, exchanges, losses, world.rules).where if traced else "",
        fix=_advise(world.rules[id], exchange, world.models) if id in world.rules else "",
    )


def _advise(rule: Rule, exchange: Exchange, models: Models) -> str:
    """Return the fix of a rule; if a model name looks misspelt, suggest the nearest one."""
    request = exchange.request
    name = request.params.get("model") or as_object(request.body).get("model")
    is_about_name = rule.error.code == "model_not_found" and isinstance(name, str)
    meant = models.find_meant(str(name)) if is_about_name else None
    return f"Did you mean '{meant}'? {rule.fix}" if meant else rule.fix


def is_account_rule(rule: str) -> bool:
    """Return whether a rule refuses only because of the account that a test has set up: quotas, scopes, outages."""
    return rule in RULES and LIMITED_ACCOUNT in RULES[rule].when


def _asks_for_other_server(exchange: Exchange) -> bool:
    return exchange.answer.rule in PROBE_RULES and bool(_OTHER_SERVERS.match(exchange.request.path))
