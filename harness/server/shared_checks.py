"""Reads and checks requests, computing once what they share with earlier ones.

Requests that differ only in their `input` share their settings: most rules, and how the response begins; where that is a
text, also what was parsed of the bytes around it. Requests with the same bytes share everything that depends on the body
alone, unless it names something stored. What is shared holds for the path, the query, the headers, the account, the
models, the day and the agent for which it was decided, in a World without overrides. It is kept the second time, as most
requests are sent only once.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import jsonschema_rs
import orjson

from harness.answers.prompt import Prompt, Settings, brings_tools, read_prompt, read_settings
from harness.api.http.dialects import USER_IDENTITY, ApiPath
from harness.api.models import Model, Models
from harness.api.project_types import NamedAgent
from harness.api.responses import omit_agents
from harness.contract import schema
from harness.contract.check import Checked, Violation, check, run_rules
from harness.contract.dialect_body import read_by_schema
from harness.contract.rule import CREATE_RESPONSE, Rule
from harness.contract.rule_plan import SHARED_FACTS, RulePlan, plan_rules_about_input
from harness.core.account import Organization
from harness.core.exchange import Json, ReceivedRequest, Request
from harness.endpoints.request import read_request
from harness.items.transcript import EMPTY_CHAIN, Transcript, find_references
from harness.world.api_call import ApiCall
from harness.world.world import World

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MAX_CACHE_SIZE = 4 * 1024 * 1024
"""Bytes of all entries of a cache; the least recently used are dropped first."""
MAX_SEEN = 1_024
"""How many keys a cache remembers as seen once."""
_OVERHEAD = 8_192
"""Bytes that an entry counts for in addition to its key."""
MAX_SETTINGS = 16 * 1024
"""Size limit, in bytes without the `input`, of bodies of which anything is cached."""
MAX_BODY = 64 * 1024
"""Size limit, in bytes, of bodies that are cached whole."""

DECISIVE_HEADERS = ("content-type", "openai-beta", "x-ms-oai-image-generation-deployment", USER_IDENTITY)
"""The headers that may decide whether a request is accepted, once its key has led to a World."""

_TEXT_INPUT = re.compile(rb'("input": ?)("(?:[^"\\]++|\\.)*+")')
"""A member `input` that is a text."""

Check = Callable[[ApiCall], Checked[ApiCall]]
Decisive = tuple[str | None, ...]
"""The values of the decisive headers."""
Key = tuple[Decisive, str, bytes]
"""The decisive headers of a request, its address, and its body without the `input`."""
Around = tuple[bytes, bytes, bytes]
"""The bytes of a body before a member `input` that is a text, its name, and the bytes after it."""


class RepeatCache(Generic[K, V]):
    """The values of keys that occurred more than once, bounded in size: what occurs once is not worth caching."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._seen: set[int] = set()
        self._size = 0

    def get(self, key: K) -> V | None:
        """Return the value of a key, and mark it as recently used."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def has_seen(self, key: K) -> bool:
        """Return whether a key was seen before, as far as is remembered, and remember it."""
        # Hashes are enough and hold no memory: a collision only caches an entry too early.
        if hash(key) in self._seen:
            return True
        if len(self._seen) >= MAX_SEEN:
            self._seen.clear()
        self._seen.add(hash(key))
        return False

    def put(self, key: K, value: V, size: int) -> None:
        """Store the value of a key of `size` bytes, and drop the least recently used entries."""
        if key in self._values:
            self._size -= self._values.pop(key)[1]
        self._values[key] = value, size + _OVERHEAD
        self._size += size + _OVERHEAD
        while self._size > MAX_CACHE_SIZE:
            self._size -= self._values.popitem(last=False)[1][1]


class Prepared(NamedTuple):
    """The decisions for requests that equal an accepted one in everything but `input`.

    Such requests have the same other members, headers and address, and reach a World with this account, models and day,
    where the same version of the same `agent` answers. `about_text` and `about_items` are the rules that may still
    decide differently, by the type of the input; `input_schema` is the schema of that member, which accepts any text of
    up to `longest_text` characters.
    """

    about_text: RulePlan
    about_items: RulePlan
    input_schema: jsonschema_rs.Validator
    longest_text: int
    settings: Settings
    family: Model | None
    conversation: str | None
    agent: NamedAgent | None
    account: Organization
    models: Models
    as_of: str

    def holds_for(self, call: ApiCall) -> bool:
        """Return whether the decisions also hold for a request in its World."""
        world = call.world
        if world is None or world.overrides is not None or self.models is not world.models or self.as_of != world.as_of:
            return False
        return (self.account is world.account or self.account == world.account) and self.agent == call.agent

    def plan_for(self, body: Json) -> RulePlan:
        """Return the rules about the input of a body."""
        return self.about_items if isinstance(body["input"], list) else self.about_text

    def accepts_input(self, call: ApiCall) -> bool:
        """Return whether the input of a request conforms to its schema; only a complete check can word how it does not."""
        if isinstance(given := call.body.get("input"), str) and len(given) <= self.longest_text:
            return True  # it is read the same in every dialect, and names no agents
        body = omit_agents(call.request, read_by_schema(call.as_sent))
        return "input" in body and bool(self.input_schema.is_valid(body["input"]))

    def find_violation(self, call: ApiCall) -> Violation | None:
        """Check by the rules that are not decided about a request whose input conforms to its schema."""
        about, plan = call.resolved, self.plan_for(call.body)
        about.family, about.conversation = self.family, self.conversation
        violation = run_rules(plan.before, call) if plan.before else None
        return violation or run_rules(plan.narrow(about), about)

    def check(self, call: ApiCall) -> Checked[ApiCall]:
        """Check a request, and build its prompt with the settings already decided."""
        if violation := self.find_violation(call):
            return Checked(violation, call)
        settings, world, about = self.settings, call.world, call.resolved
        if brings_tools(about.transcript):
            settings = read_settings(about.members, about.transcript, about.conversation, world.models, world.as_of)
        about.prompt = read_prompt(about.members, about.transcript, about.conversation, settings)
        return Checked(None, call)


def prepare(call: ApiCall) -> Prepared | None:
    """Build the decisions that an accepted request shares with others; None in a World with overrides of its own."""
    request, world, about = call.request, call.world, call.resolved
    if world.overrides is not None or not request.schema:
        return None
    root = schema.load(request.schema, world.as_of)
    if not isinstance(request.body, dict) or "input" not in root.get("properties", ()):
        return None
    return Prepared(
        plan_rules_about_input(request, world, is_list=False),
        plan_rules_about_input(request, world, is_list=True),
        schema.part_validator(root, root["properties"]["input"]),
        _longest_text(root["properties"]["input"]),
        read_settings(about.members, Transcript(EMPTY_CHAIN, ()), about.conversation, world.models, world.as_of),
        about.family,
        about.conversation,
        call.agent,
        world.account,
        world.models,
        world.as_of,
    )


def _longest_text(part: Json) -> int:
    """Return up to which length a schema accepts any text, as far as it says."""
    texts = [option for option in part.get("anyOf", ()) if option.keys() == {"type", "maxLength"}]
    return max([option["maxLength"] for option in texts if option["type"] == "string"], default=0)


class TextRequest(NamedTuple):
    """An accepted request with a text as its `input`."""

    request: Request
    decisive: Decisive
    prepared: Prepared


class WholeRequest(NamedTuple):
    """An accepted request with its prompt; `is_decided` means that it is accepted whatever is stored."""

    request: Request
    decisive: Decisive
    prepared: Prepared
    prompt: Prompt
    is_decided: bool

    def check(self, call: ApiCall) -> Checked[ApiCall]:
        """Check a request with the same bytes."""
        if not self.is_decided and (violation := self.prepared.find_violation(call)):
            return Checked(violation, call)
        about = call.resolved
        about.prompt, about.transcript = self.prompt, self.prompt.transcript
        return Checked(None, call)


class SharedChecks:
    """A bounded cache of what was decided about the requests of one mock."""

    def __init__(self) -> None:
        self._prepared: RepeatCache[Key, Prepared] = RepeatCache()
        self._texts: RepeatCache[Around, TextRequest] = RepeatCache()
        self._whole: RepeatCache[bytes, WholeRequest] = RepeatCache()

    def read(self, received: ReceivedRequest, place: ApiPath) -> tuple[Request, Check]:
        """Read a request as `read_request` does, and return what checks it; bytes that came before are not parsed again."""
        raw, headers = received.raw, received.headers
        if received.method == "POST" and not received.query and len(raw) <= MAX_BODY and (known := self._find(raw)):
            like, decisive, body, check_known = known
            is_same = headers is like.headers or _decisive(headers) == decisive
            if is_same and place == (like.dialect, like.root, like.path):
                # A new object for each request, since a journal distinguishes requests by identity; `_replace` is slower.
                members = *like[:2], headers, like.query, body, raw, *like[6:]
                return tuple.__new__(Request, members), check_known
        return read_request(received, place), self.check

    def _find(self, raw: bytes) -> tuple[Request, Decisive, Json, Check] | None:
        """Find a request with the same bytes, at least around its text; also return this body, and what checks it."""
        if whole := self._whole.get(raw):
            return whole.request, whole.decisive, whole.request.body, partial(self._check_whole, whole)
        if (found := _split_at_text(raw)) is None or (known := self._texts.get(found[0])) is None:
            return None
        try:
            body = {**known.request.body, "input": orjson.loads(found[1])}
        except orjson.JSONDecodeError:
            return None
        return known.request, known.decisive, body, partial(self.check, prepared=known.prepared)

    def check(self, call: ApiCall, prepared: Prepared | None = None) -> Checked[ApiCall]:
        """Check a request as `harness.contract.check` does, except for what is decided already, maybe `prepared`."""
        key = None
        if prepared is None:
            if call.world is None or call.request.operation != CREATE_RESPONSE:
                return check(call)
            key = _key_of(call.request)
            prepared = self._prepared.get(key) if key else None
        if prepared and prepared.holds_for(call) and prepared.accepts_input(call):
            checked = prepared.check(call)
            if checked.violation is None and isinstance(call.world, World):  # an event of a WebSocket has other bytes
                self._keep_whole(call, prepared)
            return checked
        checked = check(call)
        key = key or _key_of(call.request)
        if checked.violation is None and key and self._prepared.has_seen(key) and (made := prepare(call)):
            self._prepared.put(key, made, len(key[2]))
            if isinstance(call.world, World) and (around := _around_text(call.request)):
                self._texts.put(around, TextRequest(call.request, key[0], made), sum(map(len, around)))
        return checked

    def _check_whole(self, whole: WholeRequest, call: ApiCall) -> Checked[ApiCall]:
        return whole.check(call) if whole.prepared.holds_for(call) else self.check(call)

    def _keep_whole(self, call: ApiCall, prepared: Prepared) -> None:
        """Cache a whole request the second time its bytes are accepted, unless it names something stored."""
        raw = call.request.raw
        if len(raw) <= MAX_BODY and self._whole.has_seen(raw) and not _names_stored((about := call.resolved).prompt):
            plan = prepared.plan_for(call.body)
            is_decided = not any(map(_reads_world, (*plan.before, *plan.narrow(about))))
            decisive = _decisive(call.request.headers)
            self._whole.put(raw, WholeRequest(call.request, decisive, prepared, about.prompt, is_decided), len(raw))


def _split_at_text(raw: bytes) -> tuple[Around, bytes] | None:
    """Split a body at the first member `input` that is a text: the bytes around the text, and the text as JSON."""
    before, *found = _TEXT_INPUT.split(raw, 1)
    return ((before, found[0], found[2]), found[1]) if found else None


def _around_text(request: Request) -> Around | None:
    """Return the bytes around the text of a request that is its `input` whatever it says; None without such a text."""
    if len(request.raw) > MAX_BODY or (found := _split_at_text(request.raw)) is None:
        return None
    before, name, after = around = found[0]
    other = f"not {request.body['input']}"
    is_input = orjson.loads(b"".join((before, name, orjson.dumps(other), after))) == {**request.body, "input": other}
    return around if is_input else None


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
    settings = {**body}
    del settings["input"]
    try:
        others = orjson.dumps(settings)
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return None
    address = f"{request.dialect} {request.root}?{request.query or ''}"
    return (_decisive(request.headers), address, others) if len(others) <= MAX_SETTINGS else None


def _decisive(headers: Mapping[str, str]) -> Decisive:
    return tuple(map(headers.get, DECISIVE_HEADERS))
