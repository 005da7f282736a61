"""Caches the decisions that requests share with earlier ones.

Requests that differ only in their `input` share most rules and how the response begins; if the `input` is a string,
they are also parsed only once. Requests with the same bytes share everything that depends on the body alone, unless it
names something stored. Decisions hold for the headers, the account, the models and the day for which they were made, in
a World without overrides. They are cached the second time, as most requests are sent only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jsonschema_rs
import orjson

from harness.answers.prompt import Prompt, Settings, brings_tools, read_prompt, read_settings
from harness.api.http.dialects import FOUNDRY, OPENAI, ApiPath
from harness.api.models import Models
from harness.api.multi_agent import omit_agents
from harness.contract import schema
from harness.contract.check import Checked, Violation, check, run_rules
from harness.contract.dialect_body import read_by_schema
from harness.contract.rule import CREATE_RESPONSE, Rule
from harness.contract.rule_plan import SHARED_FACTS, RulePlan, plan_rules_about_input
from harness.core.account import Organization
from harness.core.exchange import Json, ReceivedRequest, Request
from harness.endpoints.request import read_request
from harness.fast_path.repeat_cache import RepeatCache
from harness.items.transcript import EMPTY_CHAIN, Transcript, find_references
from harness.world.api_call import ApiCall
from harness.world.world import World

MAX_SETTINGS = 16 * 1024
"""Size limit, in bytes without the `input`, of bodies of which anything is cached."""
MAX_BODY = 64 * 1024
"""Size limit, in bytes, of bodies that are cached whole, or by the bytes around their `input`."""

_INPUT = b'"input"'

DECISIVE_HEADERS = ("content-type", "openai-beta", "x-ms-oai-image-generation-deployment")
"""The headers that may decide whether a request is accepted, once its key has led to a World."""

Key = tuple[tuple[str | None, ...], bytes]
"""The decisive headers of a request, and its body without the `input`."""


class SplitBody(NamedTuple):
    """A body in three parts: the bytes before a string, the string as JSON, and the bytes after it."""

    before: bytes
    text: bytes
    after: bytes

    @property
    def around(self) -> tuple[bytes, bytes]:
        """The bytes around the string; bodies with the same ones differ only in that string."""
        return self.before, self.after

    def is_certain_in(self, body: Json) -> bool:
        """Return whether the string is surely the `input` of `body`, and of all bodies with the same bytes around it.

        Without backslashes, each quotation mark starts or ends a string, and `"input"` occurs in no inner object.
        """
        around = self.before + self.after
        is_input = around.count(_INPUT) == 1 and b"\\" not in around
        return is_input and self.replace_text(body) == body

    def replace_text(self, body: Json) -> Json | None:
        """Copy a body with this string as its `input`.

        None if the string does not end here, at an escaped quotation mark.
        """
        try:
            return {**body, "input": orjson.loads(self.text)}
        except orjson.JSONDecodeError:
            return None


def split_at_input(raw: bytes) -> SplitBody | None:
    """Split a body at the string that follows the name `input`; None without such a string, or if the body is long."""
    name = raw.find(_INPUT)
    if name < 0 or len(raw) > MAX_BODY:
        return None
    value = name + len(_INPUT)
    start = raw.find(b'"', value)
    if start < 0 or raw[value:start].strip() != b":":
        return None
    end = raw.find(b'"', start + 1) + 1
    return SplitBody(raw[:start], raw[start:end], raw[end:]) if end else None


class Prepared(NamedTuple):
    """The decisions for requests that equal an accepted one in everything but `input`.

    Such requests have the same other members, headers and query, and reach a World with this account, models and day.
    `about_text` and `about_items` are the rules that may still decide differently, by the type of the input;
    `input_schema` is the schema of that member.
    """

    about_text: RulePlan
    about_items: RulePlan
    input_schema: jsonschema_rs.Validator
    settings: Settings
    account: Organization
    models: Models
    as_of: str

    def holds_in(self, world: World) -> bool:
        """Return whether the decisions also hold in this World."""
        if world.overrides is not None or self.models is not world.models or self.as_of != world.as_of:
            return False
        return self.account is world.account or self.account == world.account

    def plan_for(self, body: Json) -> RulePlan:
        """Return the rules about the input of a body."""
        return self.about_items if isinstance(body["input"], list) else self.about_text

    def find_violation(self, call: ApiCall) -> Violation | None:
        """Check what is not decided about a request."""
        # A string is read the same in every dialect, and names no agents.
        body = call.body
        if not isinstance(body.get("input"), str):
            body = omit_agents(call.request, read_by_schema(call.request))
        if "input" not in body or not self.input_schema.is_valid(body["input"]):
            return check(call).violation  # only a complete check can word how an input breaks the schema
        plan = self.plan_for(body)
        violation = run_rules(plan.before, call) if plan.before else None
        return violation or run_rules(plan.narrow(call), call)

    def check(self, call: ApiCall) -> Checked[ApiCall]:
        """Check a request, and build its prompt with the settings already decided."""
        if violation := self.find_violation(call):
            return Checked(violation, call)
        settings, world = self.settings, call.world
        if brings_tools(call.transcript):
            settings = read_settings(call.members, call.transcript, call.conversation, world.models, world.as_of)
        call.prompt = read_prompt(call.members, call.transcript, call.conversation, settings)
        return Checked(None, call)


def prepare(call: ApiCall) -> Prepared | None:
    """Build the decisions that an accepted request shares with others; None if others need a complete check.

    These are requests to a Foundry agent, which adds stored settings, and to a World with overrides of its own.
    """
    request, world = call.request, call.world
    if world.overrides is not None or request.dialect == FOUNDRY or not request.schema:
        return None
    root = schema.load(request.schema, world.as_of)
    if not isinstance(request.body, dict) or "input" not in root.get("properties", ()):
        return None
    return Prepared(
        plan_rules_about_input(request, world, is_list=False),
        plan_rules_about_input(request, world, is_list=True),
        schema.part_validator(root, root["properties"]["input"]),
        read_settings(call.members, Transcript(EMPTY_CHAIN, ()), call.conversation, world.models, world.as_of),
        world.account,
        world.models,
        world.as_of,
    )


class WholeRequest(NamedTuple):
    """An accepted request with its prompt; `is_decided` means that it is accepted whatever is stored."""

    request: Request
    prompt: Prompt
    prepared: Prepared
    is_decided: bool

    def check(self, call: ApiCall) -> Checked[ApiCall]:
        """Check a request with the same bytes."""
        if not self.is_decided and (violation := self.prepared.find_violation(call)):
            return Checked(violation, call)
        call.prompt, call.transcript = self.prompt, self.prompt.transcript
        return Checked(None, call)


class TextRequest(NamedTuple):
    """An accepted request whose `input` is a string."""

    request: Request
    prepared: Prepared


class PreparedRequests:
    """A bounded cache of what was decided about the requests of one server."""

    def __init__(self) -> None:
        self._prepared: RepeatCache[Key, Prepared] = RepeatCache()
        self._whole: RepeatCache[bytes, WholeRequest] = RepeatCache()
        self._texts: RepeatCache[tuple[bytes, bytes], TextRequest] = RepeatCache()
        self._read: tuple[Any, WholeRequest | TextRequest | None] = None, None
        """The body that was read last, and the cache entry it came from."""

    def read(self, received: ReceivedRequest, place: ApiPath) -> Request:
        """Read a request like `read_request`, but parse only the part of its body that is new."""
        found: WholeRequest | TextRequest | None = None
        raw, headers = received.raw, received.headers
        if received.method == "POST" and not received.query:
            body = None
            if found := self._whole.get(raw):
                body = found.request.body
            elif (split := split_at_input(raw)) and (found := self._texts.get(split.around)):
                body = split.replace_text(found.request.body)
            if found and body is not None and _is_like(found.request, place, headers):
                self._read = body, found
                # A new object for each request, since a journal distinguishes requests by identity.
                return _with_content(found.request, headers, body, raw)
        self._read = None, None
        return read_request(received, place)

    def check(self, call: ApiCall) -> Checked[ApiCall]:
        """Check a request like `check`, except for what is decided already."""
        request, world = call.request, call.world
        if world is None or request.operation != CREATE_RESPONSE or request.dialect != OPENAI or request.query:
            return check(call)
        body, found = self._read
        # Identity proves that this is the request that was read last, with its body unchanged.
        if found and body is request.body and found.prepared.holds_in(world):
            return found.check(call) if isinstance(found, WholeRequest) else self._check_prepared(call, found.prepared)
        if (key := _key_of(request)) is None:
            return check(call)
        prepared = self._prepared.get(key)
        if prepared is None or not prepared.holds_in(world):
            checked = check(call)
            if checked.violation is None and self._prepared.has_seen(key) and (made := prepare(call)):
                self._prepared.put(key, made, len(key[1]))
            return checked
        self._keep_text(request, prepared)
        return self._check_prepared(call, prepared)

    def _check_prepared(self, call: ApiCall, prepared: Prepared) -> Checked[ApiCall]:
        checked = prepared.check(call)
        if checked.violation is None:
            self._keep_whole(call, prepared)
        return checked

    def _keep_text(self, request: Request, prepared: Prepared) -> None:
        """Cache the bytes around a request's string, the second time they occur."""
        split = split_at_input(request.raw) if isinstance(request.body["input"], str) else None
        if split and split.is_certain_in(request.body) and self._texts.has_seen(split.around):
            self._texts.put(split.around, TextRequest(request, prepared), len(request.raw))

    def _keep_whole(self, call: ApiCall, prepared: Prepared) -> None:
        """Cache a whole request the second time its bytes are accepted, unless it names something stored."""
        raw = call.request.raw
        if len(raw) <= MAX_BODY and self._whole.has_seen(raw) and not _names_stored(call.prompt):
            plan = prepared.plan_for(call.body)
            is_decided = not any(map(_reads_world, (*plan.before, *plan.narrow(call))))
            self._whole.put(raw, WholeRequest(call.request, call.prompt, prepared, is_decided), len(raw))


def _names_stored(prompt: Prompt) -> bool:
    """Return whether a request names a stored response, conversation or item."""
    body, given = prompt.body, prompt.body["input"]
    if body.get("previous_response_id") is not None or body.get("conversation") is not None:
        return True
    return isinstance(given, list) and bool(find_references(given))


def _reads_world(rule: Rule) -> bool:
    """Return whether a rule reads state of the World that other requests may change."""
    return rule.reads is None or any(name.startswith("world") and name not in SHARED_FACTS for name in rule.reads)


def _key_of(request: Request) -> Key | None:
    """Return the cache key of a request; None if nothing of it may be cached."""
    body = request.body
    if request.fault or not isinstance(body, dict) or "input" not in body:
        return None
    try:
        others = orjson.dumps({name: value for name, value in body.items() if name != "input"})
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return None
    return (_decisive(request.headers), others) if len(others) <= MAX_SETTINGS else None


def _with_content(request: Request, headers: Mapping[str, str], body: Any, raw: bytes) -> Request:
    """Copy a request with other content; `_replace` would take twice as long."""
    return Request._make((*request[:2], headers, request.query, body, raw, *request[6:]))


def _is_like(request: Request, place: ApiPath, headers: Mapping[str, str]) -> bool:
    """Return whether a POST is read and checked like this request, apart from its body."""
    is_same = headers is request.headers or _decisive(headers) == _decisive(request.headers)
    return is_same and place == (request.dialect, request.root, request.path)


def _decisive(headers: Mapping[str, str]) -> tuple[str | None, ...]:
    return tuple(map(headers.get, DECISIVE_HEADERS))
