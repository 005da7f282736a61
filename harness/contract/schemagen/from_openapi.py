"""What the official OpenAPI document knows and the SDK's types do not.

Both trees are walked side by side, root by root: members by name, array items, union branches by their `type` (else by
JSON type and likeness). Bounds become overlay entries. What only the document has becomes a work list for people: it
asks for members that the API does without, and its enums and unions are not the API's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import orjson
import yaml

from harness.contract.schemagen.align import BOUNDS, Form, Place, find, places
from harness.core.errors import SchemaError
from harness.core.exchange import Json

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

SCHEMAS = "#/components/schemas/"
ROOTS: Mapping[str, str] = {
    "CreateResponse": f"{SCHEMAS}CreateResponse",
    "InputTokenCount": f"{SCHEMAS}TokenCountsBody",
    "CompactResponse": f"{SCHEMAS}CompactResponseMethodPublicBody",
    "RetrieveResponse": "#/paths/~1responses~1{response_id}/get/parameters",
    "ListInputItems": "#/paths/~1responses~1{response_id}~1input_items/get/parameters",
    "CreateConversation": f"{SCHEMAS}CreateConversationBody",
    "UpdateConversation": f"{SCHEMAS}UpdateConversationBody",
    "CreateConversationItems": "#/paths/~1conversations~1{conversation_id}~1items/post/requestBody/content/"
    "application~1json/schema",
    "CreateThread": f"{SCHEMAS}CreateThreadRequest",
    "CreateMessage": f"{SCHEMAS}CreateMessageRequest",
    "CreateRun": f"{SCHEMAS}CreateRunRequest",
    "CreateThreadAndRun": f"{SCHEMAS}CreateThreadAndRunRequest",
    "SubmitToolOutputs": f"{SCHEMAS}SubmitToolOutputsRunRequest",
    "CreateAssistant": f"{SCHEMAS}CreateAssistantRequest",
    "UpdateAssistant": f"{SCHEMAS}ModifyAssistantRequest",
    "ResponsesClientEvent": f"{SCHEMAS}ResponsesClientEvent",
    "Response": f"{SCHEMAS}Response",
    "ResponseStreamEvent": f"{SCHEMAS}ResponseStreamEvent",
    "ResponseItem": f"{SCHEMAS}ItemResource",
    "ResponseInputItem": f"{SCHEMAS}InputItem",
    "ResponseItemList": f"{SCHEMAS}ResponseItemList",
    "CompactedResponse": f"{SCHEMAS}CompactResource",
    "InputTokenCountResponse": f"{SCHEMAS}TokenCountsResource",
    "Conversation": f"{SCHEMAS}ConversationResource",
    "ConversationDeleted": f"{SCHEMAS}DeletedConversationResource",
    "ConversationItem": f"{SCHEMAS}ConversationItem",
    "ConversationItemList": f"{SCHEMAS}ConversationItemList",
    "ConversationItemDeleted": f"{SCHEMAS}ConversationResource",
    "Error": f"{SCHEMAS}ErrorResponse",
    "Thread": f"{SCHEMAS}ThreadObject",
    "ThreadDeleted": f"{SCHEMAS}DeleteThreadResponse",
    "Message": f"{SCHEMAS}MessageObject",
    "MessageDeleted": f"{SCHEMAS}DeleteMessageResponse",
    "Run": f"{SCHEMAS}RunObject",
    "RunStep": f"{SCHEMAS}RunStepObject",
    "Assistant": f"{SCHEMAS}AssistantObject",
    "AssistantDeleted": f"{SCHEMAS}DeleteAssistantResponse",
    "AssistantStreamEvent": f"{SCHEMAS}AssistantStreamEvent",
    "ResponsesServerEvent": f"{SCHEMAS}ResponsesServerEvent",
}
"""Where the document keeps each root."""


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a work list: in which roots (joined by commas), where (a JSON pointer), what.

    `kind` is added, removed or changed, seen from `schemas/` as it is.
    """

    root: str
    pointer: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """An OpenAPI document: its parsed tree, its `info.version`, the SHA-256 of its bytes."""

    tree: Json
    version: str
    sha256: str


def read(source: str) -> Document:
    """The document at a path or an https URL, JSON or YAML; SchemaError when it cannot be read."""
    try:
        raw = _fetched(source) if source.startswith(("https://", "http://")) else Path(source).read_bytes()
        tree = orjson.loads(raw) if raw.lstrip().startswith(b"{") else yaml.load(raw, _LOADER)
        version = str(tree["info"]["version"])
    except (OSError, orjson.JSONDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise SchemaError(f"{source} is no OpenAPI document: {type(error).__name__}: {error}") from None
    return Document(tree, version, sha256(raw).hexdigest())


def _fetched(url: str) -> bytes:
    with urlopen(url, timeout=60) as answer:
        content: bytes = answer.read()
    return content


def _query(node: Any) -> Any:
    """A list of parameters as the object that the query is; any other schema as it is."""
    if not isinstance(node, list):
        return node
    return {"type": "object", "properties": {item["name"]: item["schema"] for item in node if item["in"] == "query"}}


def overlay(schemas: Mapping[str, Json], document: Document) -> str:
    """The overlay file with the bounds that the document gives and the generated schemas lack: JSON, an entry a line.

    A bound counts where every path to a definition agrees on it; `roots` narrows it when another root disagrees.
    """
    homes, spots = _homes(schemas), dict[tuple[str, tuple[str, ...]], list[_Seen]]()
    for root, schema in schemas.items():
        for place in _walked(root, schema, document):
            for mine, other in place.pairs:
                target, pointer = _home(root, schema, mine.at, homes)
                peers = tuple(peer for peer, body in homes[target].items() if body == homes[target][root])
                bounds = {name: other.words[name] for name in BOUNDS if name in other.words}
                spots.setdefault((target + pointer, peers), []).append(_Seen(root, bounds, other.at))
    found: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for at, peers in sorted(spots):
        for roots, bounds in _agreed(peers, spots[at, peers]):
            agreed, sources = found.setdefault((at, json.dumps(bounds)), (set(), set()))
            agreed.update(roots)
            sources.update(
                one.at for one in spots[at, peers] if one.root in roots and bounds.items() <= one.bounds.items()
            )
    lines = [
        _line(at, bounds, roots if roots < homes[at.partition("#")[0]].keys() else set(), sources, document)
        for (at, bounds), (roots, sources) in found.items()
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _line(at: str, bounds: str, roots: set[str], sources: set[str], document: Document) -> str:
    source = [f"openapi {document.version} {document.sha256[:8]}{place}" for place in sorted(sources)]
    entry = {"at": at, "roots": sorted(roots), "merge": json.loads(bounds), "source": source, "level": "documented"}
    return json.dumps({name: value for name, value in entry.items() if value}, ensure_ascii=False)


def differences(schemas: Mapping[str, Json], document: Document) -> list[Change]:
    """What else the document says differently: branches, enum values, members, what is required.

    `added` is only in the document, `removed` only in the schemas; a difference that roots share is told once.
    """
    homes, told = _homes(schemas), dict[tuple[str, str, str], list[str]]()
    for root, schema in schemas.items():
        if root not in ROOTS or find(document.tree, ROOTS[root]) is None:
            told[ROOTS.get(root, ""), "removed", "the document does not have this root"] = [root]
        for place in _walked(root, schema, document):
            for at, kind, text in _told(place):
                roots = told.setdefault(("".join(_home(root, schema, at, homes)), kind, text), [])
                roots += [root] * (root not in roots)
    return [Change(", ".join(roots), at, kind, text) for (at, kind, text), roots in sorted(told.items())]


def _told(place: Place) -> Iterator[tuple[str, str, str]]:
    paired = {form.at for _, form in place.pairs}
    names = {form.name for form in place.ours}
    for form in place.theirs:
        if form.at not in paired and not names & {form.name, "any"}:
            yield place.at, "added", f"branch {form.name} ({form.at})"
    mine, other = ([form.values for form in side if form.type == "string"] for side in (place.ours, place.theirs))
    if mine and all(mine):
        known = {value for values in mine for value in values}
        yield from (
            (place.at, "added", f"value {value!r}") for values in other for value in values if value not in known
        )
    for form in place.ours:
        if like := [partner for ours, partner in place.pairs if ours is form and partner.members]:
            yield from _told_of_members(form, like)


def _told_of_members(mine: Form, like: list[Form]) -> Iterator[tuple[str, str, str]]:
    members = {name for form in like for name in form.members}
    required = frozenset.intersection(*(form.required for form in like))
    for name in sorted(members - mine.members.keys()):
        yield mine.at, "added", f"member {name!r}"
    for name in sorted((required - mine.required) & mine.members.keys()):
        yield mine.at, "added", f"required {name!r}"
    for name in sorted((mine.required - required) & members):
        yield mine.at, "removed", f"required {name!r}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """The bounds that one path through the document gives a place in one root, and where they stand."""

    root: str
    bounds: Json
    at: str


def _agreed(peers: tuple[str, ...], seen: list[_Seen]) -> Iterator[tuple[tuple[str, ...], Json]]:
    found: dict[tuple[str, ...], Json] = {}
    for name, value in dict.fromkeys(bound for one in seen for bound in one.bounds.items()):
        against = {one.root for one in seen if one.bounds.get(name) != value}
        if roots := tuple(root for root in peers if root not in against):
            found.setdefault(roots, {})[name] = value
    yield from found.items()


def _walked(root: str, schema: Json, document: Document) -> Iterator[Place]:
    start = ROOTS.get(root, "")
    node = find(document.tree, start) if start else None
    return places(schema, document.tree, (_query(node), start)) if node is not None else iter(())


def _homes(schemas: Mapping[str, Json]) -> dict[str, dict[str, Json]]:
    """By the target of an overlay entry: the roots that hold it, and what each of them holds."""
    homes: dict[str, dict[str, Json]] = {root: {root: schema} for root, schema in schemas.items()}
    for root, schema in schemas.items():
        for name, body in schema.get("$defs", {}).items():
            homes.setdefault(f"$defs/{name}", {})[root] = body
    for root, schema in schemas.items():
        if (home := homes.get(f"$defs/{schema.get('title')}")) is not None:
            home[root] = {name: schema[name] for name in schema if name not in ("$schema", "title", "$defs")}
    return homes


def _home(root: str, schema: Json, at: str, homes: Mapping[str, Any]) -> tuple[str, str]:
    """The target and the pointer (`#/…` or nothing) by which an overlay entry reaches a place of a root."""
    steps = at.split("/")[1:]
    target = f"$defs/{schema.get('title')}"
    if steps[:1] == ["$defs"]:
        target, steps = f"$defs/{steps[1]}", steps[2:]
    elif target not in homes:
        target = root
    return target, "".join(["#", *(f"/{step}" for step in steps)]) if steps else ""
