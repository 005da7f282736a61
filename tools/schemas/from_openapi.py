"""Extracts facts from the official OpenAPI document that the SDK's types lack.

Both trees are walked side by side, root by root: members by name, array items, union branches by their `type` (else by
JSON type and similarity). Bounds become overlay entries. Other differences become a work list for people, because the
document requires members that the API does not, and its enums and unions differ from the API's.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import orjson
import yaml

from harness.core.errors import SchemaError
from harness.core.exchange import Json
from tools.schemas.align import (
    BOUND_KEYWORDS,
    AlignedPlace,
    SchemaAlternative,
    align_schemas,
    resolve_pointer,
)

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

SCHEMAS_POINTER = "#/components/schemas/"
ROOT_POINTERS: Mapping[str, str] = {
    "CreateResponse": f"{SCHEMAS_POINTER}CreateResponse",
    "InputTokenCount": f"{SCHEMAS_POINTER}TokenCountsBody",
    "CompactResponse": f"{SCHEMAS_POINTER}CompactResponseMethodPublicBody",
    "RetrieveResponse": "#/paths/~1responses~1{response_id}/get/parameters",
    "ListInputItems": "#/paths/~1responses~1{response_id}~1input_items/get/parameters",
    "CreateConversation": f"{SCHEMAS_POINTER}CreateConversationBody",
    "UpdateConversation": f"{SCHEMAS_POINTER}UpdateConversationBody",
    "CreateConversationItems": "#/paths/~1conversations~1{conversation_id}~1items/post/requestBody/content/"
    "application~1json/schema",
    "CreateThread": f"{SCHEMAS_POINTER}CreateThreadRequest",
    "CreateMessage": f"{SCHEMAS_POINTER}CreateMessageRequest",
    "CreateRun": f"{SCHEMAS_POINTER}CreateRunRequest",
    "CreateThreadAndRun": f"{SCHEMAS_POINTER}CreateThreadAndRunRequest",
    "SubmitToolOutputs": f"{SCHEMAS_POINTER}SubmitToolOutputsRunRequest",
    "CreateAssistant": f"{SCHEMAS_POINTER}CreateAssistantRequest",
    "UpdateAssistant": f"{SCHEMAS_POINTER}ModifyAssistantRequest",
    "ResponsesClientEvent": f"{SCHEMAS_POINTER}ResponsesClientEvent",
    "Response": f"{SCHEMAS_POINTER}Response",
    "ResponseStreamEvent": f"{SCHEMAS_POINTER}ResponseStreamEvent",
    "ResponseItem": f"{SCHEMAS_POINTER}ItemResource",
    "ResponseInputItem": f"{SCHEMAS_POINTER}InputItem",
    "ResponseItemList": f"{SCHEMAS_POINTER}ResponseItemList",
    "CompactedResponse": f"{SCHEMAS_POINTER}CompactResource",
    "InputTokenCountResponse": f"{SCHEMAS_POINTER}TokenCountsResource",
    "Conversation": f"{SCHEMAS_POINTER}ConversationResource",
    "ConversationDeleted": f"{SCHEMAS_POINTER}DeletedConversationResource",
    "ConversationItem": f"{SCHEMAS_POINTER}ConversationItem",
    "ConversationItemList": f"{SCHEMAS_POINTER}ConversationItemList",
    "ConversationItemDeleted": f"{SCHEMAS_POINTER}ConversationResource",
    "Error": f"{SCHEMAS_POINTER}ErrorResponse",
    "Thread": f"{SCHEMAS_POINTER}ThreadObject",
    "ThreadDeleted": f"{SCHEMAS_POINTER}DeleteThreadResponse",
    "Message": f"{SCHEMAS_POINTER}MessageObject",
    "MessageDeleted": f"{SCHEMAS_POINTER}DeleteMessageResponse",
    "Run": f"{SCHEMAS_POINTER}RunObject",
    "RunStep": f"{SCHEMAS_POINTER}RunStepObject",
    "Assistant": f"{SCHEMAS_POINTER}AssistantObject",
    "AssistantDeleted": f"{SCHEMAS_POINTER}DeleteAssistantResponse",
    "AssistantStreamEvent": f"{SCHEMAS_POINTER}AssistantStreamEvent",
    "ResponsesServerEvent": f"{SCHEMAS_POINTER}ResponsesServerEvent",
}
"""The pointer to each root in the document."""


@dataclass(frozen=True, slots=True)
class Change:
    """A line of a work list: the roots (joined by commas), the place (a JSON pointer), and the change.

    `kind` is added, removed or changed, relative to the current `schemas/`.
    """

    root: str
    pointer: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """An OpenAPI document: its parsed tree, its `info.version`, and the SHA-256 of its bytes."""

    tree: Json
    version: str
    sha256: str


def read_document(source: str) -> OpenApiDocument:
    """Read the document at a path or URL, as JSON or YAML. SchemaError if it cannot be read."""
    try:
        raw = _fetch(source) if source.startswith(("https://", "http://")) else Path(source).read_bytes()
        tree = orjson.loads(raw) if raw.lstrip().startswith(b"{") else yaml.load(raw, _LOADER)
        version = str(tree["info"]["version"])
    except (OSError, orjson.JSONDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise SchemaError(f"{source} is no OpenAPI document: {type(error).__name__}: {error}") from None
    return OpenApiDocument(tree, version, sha256(raw).hexdigest())


def _fetch(url: str) -> bytes:
    with urlopen(url, timeout=60) as answer:
        content: bytes = answer.read()
    return content


def _query_as_object(node: Any) -> Any:
    """Convert a list of parameters to an object schema of the query; other schemas are unchanged."""
    if not isinstance(node, list):
        return node
    return {"type": "object", "properties": {item["name"]: item["schema"] for item in node if item["in"] == "query"}}


def render_bounds_overlay(schemas: Mapping[str, Json], document: OpenApiDocument) -> str:
    """Render the overlay file with the document's bounds that the generated schemas lack: JSON, one entry per line.

    A bound counts if all paths to a definition have it; `roots` limits it if another root has a different one.
    """
    homes, spots = _roots_by_target(schemas), dict[tuple[str, tuple[str, ...]], list[_SeenBounds]]()
    for root, schema in schemas.items():
        for place in _align_root(root, schema, document):
            for mine, theirs in place.pairs:
                target, pointer = _overlay_target(root, schema, mine.at, homes)
                peers = tuple(peer for peer, body in homes[target].items() if body == homes[target][root])
                bounds = {name: theirs.keywords[name] for name in BOUND_KEYWORDS if name in theirs.keywords}
                spots.setdefault((target + pointer, peers), []).append(_SeenBounds(root, bounds, theirs.at))
    found: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for where, peers in sorted(spots):
        for roots, bounds in _agreed_bounds(peers, spots[where, peers]):
            agreed, sources = found.setdefault((where, json.dumps(bounds)), (set(), set()))
            agreed.update(roots)
            sources.update(
                spot.at for spot in spots[where, peers] if spot.root in roots and bounds.items() <= spot.bounds.items()
            )
    lines = [
        _render_entry(
            where, bounds, roots if roots < homes[where.partition("#")[0]].keys() else set(), sources, document
        )
        for (where, bounds), (roots, sources) in found.items()
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _render_entry(at: str, bounds: str, roots: set[str], sources: set[str], document: OpenApiDocument) -> str:
    source = [f"openapi {document.version} {document.sha256[:8]}{place}" for place in sorted(sources)]
    entry = {"at": at, "roots": sorted(roots), "merge": json.loads(bounds), "source": source, "level": "documented"}
    return json.dumps({name: value for name, value in entry.items() if value}, ensure_ascii=False)


def list_changes(schemas: Mapping[str, Json], document: OpenApiDocument) -> list[Change]:
    """List the document's other differences: branches, enum values, members, required members.

    `added` is only in the document, `removed` only in the schemas; a difference in several roots is listed once.
    """
    homes, listed = _roots_by_target(schemas), dict[tuple[str, str, str], list[str]]()
    for root, schema in schemas.items():
        if root not in ROOT_POINTERS or resolve_pointer(document.tree, ROOT_POINTERS[root]) is None:
            listed[ROOT_POINTERS.get(root, ""), "removed", "the document does not have this root"] = [root]
        for place in _align_root(root, schema, document):
            for where, kind, text in _place_changes(place):
                roots = listed.setdefault(("".join(_overlay_target(root, schema, where, homes)), kind, text), [])
                roots += [root] * (root not in roots)
    return [Change(", ".join(roots), where, kind, text) for (where, kind, text), roots in sorted(listed.items())]


def _place_changes(place: AlignedPlace) -> Iterator[tuple[str, str, str]]:
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
            yield from _member_changes(form, like)


def _member_changes(mine: SchemaAlternative, like: list[SchemaAlternative]) -> Iterator[tuple[str, str, str]]:
    members = {name for form in like for name in form.members}
    required = frozenset.intersection(*(form.required for form in like))
    for name in sorted(members - mine.members.keys()):
        yield mine.at, "added", f"member {name!r}"
    for name in sorted((required - mine.required) & mine.members.keys()):
        yield mine.at, "added", f"required {name!r}"
    for name in sorted((mine.required - required) & members):
        yield mine.at, "removed", f"required {name!r}"


@dataclass(frozen=True, slots=True)
class _SeenBounds:
    """The bounds of a place in one root, by one path through the document, and their pointer."""

    root: str
    bounds: Json
    at: str


def _agreed_bounds(peers: tuple[str, ...], seen: list[_SeenBounds]) -> Iterator[tuple[tuple[str, ...], Json]]:
    found: dict[tuple[str, ...], Json] = {}
    for name, value in dict.fromkeys(bound for spot in seen for bound in spot.bounds.items()):
        against = {spot.root for spot in seen if spot.bounds.get(name) != value}
        if roots := tuple(root for root in peers if root not in against):
            found.setdefault(roots, {})[name] = value
    yield from found.items()


def _align_root(root: str, schema: Json, document: OpenApiDocument) -> Iterator[AlignedPlace]:
    start = ROOT_POINTERS.get(root, "")
    node = resolve_pointer(document.tree, start) if start else None
    return align_schemas(schema, document.tree, (_query_as_object(node), start)) if node is not None else iter(())


def _roots_by_target(schemas: Mapping[str, Json]) -> dict[str, dict[str, Json]]:
    """Map each possible target of an overlay entry to the roots that contain it, with its schema in each."""
    homes: dict[str, dict[str, Json]] = {root: {root: schema} for root, schema in schemas.items()}
    for root, schema in schemas.items():
        for name, body in schema.get("$defs", {}).items():
            homes.setdefault(f"$defs/{name}", {})[root] = body
    for root, schema in schemas.items():
        if (home := homes.get(f"$defs/{schema.get('title')}")) is not None:
            home[root] = {name: schema[name] for name in schema if name not in ("$schema", "title", "$defs")}
    return homes


def _overlay_target(root: str, schema: Json, at: str, homes: Mapping[str, Any]) -> tuple[str, str]:
    """Return the target and the pointer (`#/…` or empty) of an overlay entry for a place in a root."""
    steps = at.split("/")[1:]
    target = f"$defs/{schema.get('title')}"
    if steps[:1] == ["$defs"]:
        target, steps = f"$defs/{steps[1]}", steps[2:]
    elif target not in homes:
        target = root
    return target, "".join(["#", *(f"/{step}" for step in steps)]) if steps else ""
