"""Explains unexpected refusals (the place, the origin of ids there, the text sent) and expected ones that did not come."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.analysis.history.history import History
from harness.analysis.history.items import describe_item, item_type
from harness.analysis.history.request import OutputItem
from harness.analysis.lanes import PROBE_RULES
from harness.analysis.loss import Lost
from harness.api.http.other_apis import NOT_MOCKED
from harness.contract.rule import LEVELS, LIMITED_ACCOUNT, RULES, Rule
from harness.contract.rules.request.input_items.images import find_invalid_images, image_not_valid
from harness.core.cached import cached_property
from harness.core.exchange import Exchange, Json, Request, answer_error
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.text import pluralize, quote, shorten, shorten_json
from harness.explain import missing_outputs
from harness.explain.cause import Cause, ReportFinding
from harness.world.refusals import ExpectedRefusal
from harness.world.world import World

_PATH_STEP = re.compile(r"\[(\d+)]|([^.\[\]]+)")
_LEADING_MEMBERS = ("type", "role")
"""The members that identify an object; they are shown beside the relevant ones."""


def describe_sent_part(request: Request, param: str | None, names: Collection[str] = ()) -> str:
    """Show the part of a request that an error is about: the body at `param`, or the deepest part that exists.

    Lists and objects are cut down to what contains one of the `names`, which are ids or names of members.
    """
    if request.fault:
        return shorten(request.raw.decode("utf-8", "replace"))
    if not isinstance(request.body, dict):
        return shorten(f"{request.method} {request.path}") if request.body is None else shorten_json(request.body)
    found, value, missing = resolve_path(request.body, param or "")
    part = shorten(_cut_around(value, frozenset(names)), 200) if _holds(value, names) else shorten_json(value)
    if not missing:
        return f"{found} = {part}" if found else part
    return f"no {missing} in {found or 'the body'}: {part}"


def resolve_path(body: Any, path: str) -> tuple[str, Any, str]:
    """Follow a path such as `input[0].role`; return the place reached, its value, and the step that failed (or "")."""
    reached, value = "", body
    for match in _PATH_STEP.finditer(path):
        index, name = match.groups()
        step: Any = name if index is None else int(index)
        try:
            value = value[step]
        except (IndexError, KeyError, TypeError):
            return reached, value, match[0]
        reached += f"[{index}]" if name is None else f".{name}" if reached else name
    return reached, value, ""


def _holds(value: Any, names: Collection[str]) -> bool:
    """Return whether a value contains one of the names, as a string or as the name of a member."""
    if isinstance(value, str):
        return value in names
    if isinstance(value, dict):
        return any(name in names or _holds(member, names) for name, member in value.items())
    return isinstance(value, list) and any(_holds(entry, names) for entry in value)


def _cut_around(value: Any, names: Collection[str]) -> str:
    """Show a value, with the entries and members that contain none of the names replaced by their number."""
    if isinstance(value, list):
        return f"[{', '.join(_cut_list(value, names))}]"
    if isinstance(value, dict) and _holds(value, names):
        return f"{{{', '.join(_cut_object(value, names))}}}"
    return quote(value, 60) if isinstance(value, str) else shorten_json(value, 1)


def _cut_list(entries: Sequence[Any], names: Collection[str]) -> Iterator[str]:
    hidden = 0
    for entry in entries:
        if _holds(entry, names):
            if hidden:
                yield f"… {pluralize(hidden, 'entry', 'entries')}"
            hidden = 0
            yield _cut_around(entry, names)
        else:
            hidden += 1
    if hidden:
        yield f"… {pluralize(hidden, 'entry', 'entries')}"


def _cut_object(members: dict[str, Any], names: Collection[str]) -> Iterator[str]:
    shown = 0
    for name, value in members.items():
        if name in names or name in _LEADING_MEMBERS or _holds(value, names):
            shown += 1
            yield f"{json.dumps(name)}: {_cut_around(value, names) if _holds(value, names) else shorten_json(value, 1)}"
    if hidden := len(members) - shown:
        yield f"… {hidden} more"


_INPUT_ITEM = re.compile(r"input\[\d+]")
_ID = re.compile(r"\w[\w.:|/+=-]*\w")
_IS_ID = re.compile(r"[_\d-]")
_QUOTED = re.compile(r"'([^']+)'")
_ID_MEMBERS = ("id", "call_id", "approval_request_id")


def explain_request(
    exchange: Exchange, exchanges: Sequence[Exchange], losses: Sequence[Lost], rules: Mapping[str, Rule] = RULES
) -> Cause:
    """Explain a refusal: the API's error, its place, and what the client sent there.

    `exchanges` are the whole journal; one of the `losses` may be the cause.
    """
    refused = _RefusedRequest(exchange, exchanges, [lost for lost in losses if lost.exchange == exchange.number], rules)
    sent = describe_sent_part(exchange.request, refused.param, refused.names)
    rule = exchange.answer.rule or ""
    return Cause(
        describe_refusal(exchange),
        exchange.number,
        "refusal",
        rule,
        refused.param,
        where=refused.describe_cause(),
        sent=sent,
    )


def describe_refusal(exchange: Exchange) -> str:
    """Report that a request was refused, with the API's message."""
    return f"Request {exchange.number} was refused ({exchange.status}): {_error_message(exchange)}"


def _error_message(exchange: Exchange) -> str:
    message = answer_error(exchange).get("message") or "no reason given"
    if _is_other_api(exchange):
        message = str(message).partition(_OTHER_API_END)[0] + _OTHER_API_END.rstrip()
    return shorten(" ".join(str(message).split()), 400)


@dataclass(frozen=True)
class _RefusedRequest:
    """A refused request with its journal, its losses and the rules of its World."""

    exchange: Exchange
    exchanges: Sequence[Exchange]
    losses: Sequence[Lost]
    rules: Mapping[str, Rule]

    @cached_property
    def param(self) -> str:
        """The place that the error names, or a more precise one."""
        if self.exchange.answer.rule == image_not_valid.__name__:
            return next(find_invalid_images(self.exchange.request), "input")
        return str(answer_error(self.exchange).get("param") or "")

    @cached_property
    def ids(self) -> Sequence[str]:
        return _ID.findall(_error_message(self.exchange))

    @cached_property
    def history(self) -> History:
        history = History()
        for earlier in self.exchanges:
            if earlier.number < self.exchange.number:
                history.add_exchange(earlier, history.read_request(earlier))
        return history

    @cached_property
    def unpaired(self) -> Sequence[missing_outputs.UnpairedItem]:
        """The calls without output, or outputs without call, that caused the refusal; empty for other rules."""
        return missing_outputs.find_unpaired(self.exchange.answer.rule, self.history, self.exchange)

    @property
    def names(self) -> frozenset[str]:
        """The ids concerned, and the members that the error message names in quotes."""
        ids = [id for id in self.ids if _IS_ID.search(id) and id not in _ID_MEMBERS]
        unpaired = [item.call_id for item in self.unpaired if item.call_id]
        return frozenset([*ids, *unpaired, *_QUOTED.findall(_error_message(self.exchange))])

    def describe_cause(self) -> str:
        """Name the place in the request, and what the client did there."""
        ids = [id for id in self.ids if "_" in id]
        named = next((lost for lost in self.losses if not set(_ID.findall(lost.message)).isdisjoint(ids)), None)
        # A loss concerns one item, so it cannot explain several unpaired ones.
        if named and len(self.unpaired) < 2 and not any(item.other_kind for item in self.unpaired):
            return f"{named.at or self.param or 'input'}: {_loss_line(named)}"
        where = self._trace_ids() or self._describe_place()
        if lost := next((lost for lost in self.losses if self._is_at_item_of(lost)), None):
            return f"{where}; {_loss_line(lost)}"
        rule = None if _is_other_api(self.exchange) else self.rules.get(self.exchange.answer.rule or "")
        return f"{where}; {rule.summary}" if rule and rule.id not in missing_outputs.PAIRING_RULES else where

    def _is_at_item_of(self, lost: Lost) -> bool:
        """Return whether the error points to the same input item as a loss."""
        here, there = _INPUT_ITEM.match(self.param), _INPUT_ITEM.match(lost.at)
        return bool(here and there and here[0] == there[0])

    def _trace_ids(self) -> str:
        """Describe where the ids in the error come from; empty if no answer and no item of this request has them."""
        if self.unpaired:
            return missing_outputs.describe_unpaired(self.exchange.answer.rule, self.unpaired)
        for id in self.ids:
            origin = missing_outputs.find_origin(self.history, id)
            holders = [(place, item) for place, item in self._input_objects() if id in map(item.get, _ID_MEMBERS)]
            if origin or holders:
                _, item = holders[0] if holders else ("", {})
                places = ", ".join(place for place, _ in holders) or f"{self.param or 'input'}, not among its items"
                return f"{places}: {describe_item(origin.item if origin else item)}{missing_outputs.describe_origin(origin)}"
        return ""

    def _input_objects(self) -> Iterator[tuple[str, Json]]:
        items = as_object(self.exchange.request.body).get("input")
        for place, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict):
                yield f"input[{place}]", item

    def _describe_place(self) -> str:
        body = self.exchange.request.body
        place = _INPUT_ITEM.match(self.param)
        _, item, missing = resolve_path(body, place[0]) if place else ("", None, "input")
        if missing or not isinstance(item, dict):
            return self._describe_outer_place()
        _, value, missing = resolve_path(body, self.param)
        what = (
            f"no {missing.strip('.')}" if missing else as_string(as_object(value).get("type")) or shorten_json(value, 1)
        )
        part = "" if value is item and not missing else f"{what} in "
        origin = next(_find_origins(self.history, item), None)
        said = f" that exchange {origin.number} returned as {describe_item(origin.item)}" if origin else ""
        return f"{self.param}: {part}{_describe_item(item)}{said}"

    def _describe_outer_place(self) -> str:
        """Describe what was sent outside the items, and the exchange whose answer it continues."""
        request = self.exchange.request
        head = "" if self.param or request.fault or request.body is None else f"{request.method} {request.path}: "
        known = ((exchange.number, as_object(exchange.answer.body).get("id")) for exchange in self.exchanges)
        answers = (number for number, id in known if id and id in self.ids)
        continued = next((f", the answer of exchange {number}" for number in answers), "")
        return f"{head}{describe_sent_part(request, self.param)}{continued}"


def _loss_line(lost: Lost) -> str:
    return f"{' '.join(lost.message.split())} (loss {lost.loss})"


def _find_origins(history: History, item: Json) -> Iterator[OutputItem]:
    """Find the output that an item repeats, as a whole or in the text of a part."""
    yield from history.find_originals(item)
    for part in objects_in(item.get("content")):
        if said := history.by_text.get(as_string(part.get("text")).strip()):
            yield from said.originals


def _describe_item(item: Json) -> str:
    role = as_string(item.get("role"))
    article = "an" if role.startswith("a") else "a"
    return f"{article} {role} message" if role and item_type(item) == "message" else describe_item(item) or "an item"


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
    source = "" if _is_other_api(exchange) else f"{rule.id}: {describe_sources(rule)[0]}"
    return replace(cause, fix=_advise(rule, exchange, world), source=source)


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
        else Cause(describe_refusal(exchange), exchange.number, "refusal", exchange.answer.rule or "")
        for exchange in refused
    ]


def unasked_causes(world: World, losses: Sequence[Lost]) -> list[Cause]:
    """Explain the unexpected refusals; the first few also say how to expect all of them."""
    if not (unexpected := [exchange for exchange in world.refusals.unexpected if not _asks_for_other_server(exchange)]):
        return []
    rules = list(dict.fromkeys(exchange.answer.rule or "" for exchange in unexpected))
    expect = world.vocabulary.expect_refusals(rules)
    causes = refusal_causes(unexpected, unexpected[:MAX_EXPLAINED], losses, world)
    return [replace(cause, expect=expect) for cause in causes[:MAX_EXPLAINED]] + causes[MAX_EXPLAINED:]


def probe_causes(world: World) -> list[Cause]:
    """Explain all requests that probe the kind of server as one cause; empty without any."""
    probes = [exchange for exchange in world.refusals.unexpected if _asks_for_other_server(exchange)]
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
        at=as_string(param),
        why=explain_request(exchange, exchanges, losses, world.rules).where if traced else "",
        fix=_advise(world.rules[id], exchange, world) if id in world.rules else "",
    )


def _advise(rule: Rule, exchange: Exchange, world: World) -> str:
    """Return the fix of a rule in the words of the World; if a model name looks misspelt, suggest the nearest one.

    For another API of the provider it is how to answer the request.
    """
    request = exchange.request
    if _is_other_api(exchange):
        routed = f'mock.route("{request.method}", "{request.path}", {{…}})'
        hint = str(answer_error(exchange).get("message")).partition(_OTHER_API_END)[2]
        return hint.replace("mock.route(…)", routed)
    name = request.params.get("model") or as_object(request.body).get("model")
    is_about_name = rule.error.code == "model_not_found" and isinstance(name, str)
    meant = world.models.find_meant(str(name)) if is_about_name else None
    return world.vocabulary.word_fix(f"Did you mean '{meant}'? {rule.fix}" if meant else rule.fix)


_OTHER_API_END = " Conversations and Assistants. "
"""Ends what is wrong in the error for another API of the provider; what to do follows."""


def _is_other_api(exchange: Exchange) -> bool:
    return answer_error(exchange).get("code") == NOT_MOCKED


def is_account_rule(rule: str) -> bool:
    """Return whether a rule refuses only because of the account that a test has set up: quotas, scopes, outages."""
    return rule in RULES and LIMITED_ACCOUNT in RULES[rule].when


def _asks_for_other_server(exchange: Exchange) -> bool:
    return exchange.answer.rule in PROBE_RULES and bool(_OTHER_SERVERS.match(exchange.request.path))
