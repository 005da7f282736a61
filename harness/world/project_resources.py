"""A World's project resources, created the same way by requests and by tests.

A test passes members under the API's names; `RESOURCES` lists the members of each kind and how to create it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from harness.api.project.assets import DATASETS, INDEXES, AssetKind
from harness.api.project.blobs import Blob, BlobContainer, container_address
from harness.api.project.connections import PROJECT, new_connection, new_deployment
from harness.api.project.memories import Memories, new_memory_store
from harness.api.project.skills import add_skill, write_package
from harness.api.project.toolboxes import add_toolbox_version
from harness.api.project.versions import Versioned
from harness.core.errors import ConfigError
from harness.core.exchange import EMPTY_MAPPING, Json
from harness.core.registry import suggest_name
from harness.core.text import show
from harness.world.world import World

DEFAULT_SCOPE = "user_123"
"""The scope of memories for which a test names none."""
FILE_TYPE = "application/octet-stream"


def table_of(kind: AssetKind, world: World) -> MutableMapping[str, Versioned]:
    """Return the store's table for a kind of asset."""
    table: MutableMapping[str, Versioned] = getattr(world.store, kind.table)
    return table


def put_asset(kind: AssetKind, world: World, name: str, version: str, body: Json, project: str = PROJECT) -> Json:
    """Create a version of an asset, or change it by a merge patch; returns it as stored."""
    table, now = table_of(kind, world), world.tick()
    asset = table.get(name) or Versioned()
    made = asset.add(now, kind.patch(asset.versions.get(version), body, (name, version, project), now))
    table[name] = asset
    return made


def put_memory_store(world: World, body: Json) -> Memories:
    """Create a memory store, or redefine one, which keeps its memories."""
    stores, name, now = world.store.memory_stores, body["name"], world.tick()
    known = stores.get(name)
    made = new_memory_store(known.object["id"] if known else world.ids.project_id("memstore_"), now, body)
    if known:
        known.object = {**made, "created_at": known.object["created_at"]}
    stores[name] = known or Memories(made)
    return stores[name]


def put_skill(
    world: World, name: str, package: bytes, description: str, *, default: bool = False, uploaded: bool = False
) -> Json:
    """Add a version to a skill, which is created if it does not exist; returns the version."""
    skill = world.store.skills.get(name) or Versioned()
    made = add_skill(skill, name, world.tick(), package, description, uploaded=uploaded)
    if default:
        skill.default = made["version"]
    world.store.skills[name] = skill
    return made


def put_toolbox(world: World, name: str, body: Json) -> Json:
    """Add a version to a toolbox, which is created if it does not exist; returns the version."""
    toolbox = world.store.toolboxes.get(name) or Versioned()
    made = add_toolbox_version(toolbox, name, world.tick(), body, world.as_of)
    world.store.toolboxes[name] = toolbox
    return made


def new_memory_id(world: World) -> str:
    """Make the id of a memory."""
    return world.ids.hex("mem_", 32)


def settle_updates(world: World, store: Memories) -> None:
    """Apply the waiting updates of a memory store before it is read, in case no client has polled them."""
    for update in store.updates.values():
        if update.is_waiting:
            store.carry_out(update, world.tick(), lambda: new_memory_id(world))


def new_container(world: World) -> str:
    """Create an empty container for an upload; returns its name."""
    name = f"harness-{world.ids.guid()}"
    world.store.blobs[name] = BlobContainer()
    return name


def origin_of(world: World, headers: Mapping[str, str] = EMPTY_MAPPING) -> str:
    """Return the scheme and host of the mock, or those that a request with these headers was sent to."""
    known = urlsplit(world.base_url)
    return f"{known.scheme or world.scheme}://{known.netloc or headers.get('host', 'localhost')}"


def _make_connection(world: World, name: str, members: Json) -> str:
    """Create a connection; unless its members say otherwise, the first one of its type is the default."""
    made = new_connection(name, members)
    others = [connection for connection in world.store.connections.values() if connection["type"] == made["type"]]
    made["isDefault"] = members.get("isDefault", not any(connection["isDefault"] for connection in others))
    world.store.connections[name] = made
    return str(made["id"])


def _make_deployment(world: World, name: str, members: Json) -> str:
    world.store.deployments[name] = new_deployment(name, members)
    return name


def _make_index(world: World, name: str, members: Json) -> str:
    """Create an index, of Azure AI Search unless `type` says otherwise."""
    body = {"type": "AzureSearch", **{member: members[member] for member in members if member != "version"}}
    return str(put_asset(INDEXES, world, name, members.get("version", "1"), body)["id"])


def _make_dataset(world: World, name: str, members: Json) -> str:
    """Create a dataset whose `files` are in a container of the mock."""
    files = {path: _file_bytes(name, path, data) for path, data in members.get("files", {}).items()}
    container, now = new_container(world), world.tick()
    world.store.blobs[container].blobs.update({path: Blob(data, FILE_TYPE, now) for path, data in files.items()})
    address = container_address(origin_of(world), PROJECT, container)
    single = {"type": "uri_file", "dataUri": f"{address}/{next(iter(files))}"} if len(files) == 1 else {}
    given = {member: members[member] for member in members if member not in ("files", "version")}
    body = {"type": "uri_folder", "dataUri": address, **single, **given}
    return str(put_asset(DATASETS, world, name, members.get("version", "1"), body)["id"])


def _file_bytes(dataset: str, path: str, data: Any) -> bytes:
    if not isinstance(data, str | bytes):
        raise ConfigError(f"dataset({show(dataset)}): the file {show(path)} is {show(data)}; pass a string or bytes.")
    return data.encode() if isinstance(data, str) else data


def _memory_members(store: str, memory: Any) -> Json:
    known = ("content", "kind", "scope")
    is_memory = isinstance(memory, dict) and "content" in memory and set(memory) <= set(known)
    if not is_memory or not all(isinstance(text, str) for text in memory.values()):
        raise ConfigError(
            f"memory_store({show(store)}): {show(memory)} is not a memory; pass a string, or an object with content, kind "
            "and scope."
        )
    return dict(memory)


def _make_memory_store(world: World, name: str, members: Json) -> str:
    """Create a memory store; `memories` are strings in the `scope`, or objects with `content`, `kind` and `scope`."""
    definition = members.get("definition", {"kind": "default", "chat_model": "gpt-4.1", "embedding_model": "embed"})
    given = {member: members[member] for member in members if member in ("description", "metadata")}
    store = put_memory_store(world, {"name": name, "definition": definition, **given})
    scope = members.get("scope", DEFAULT_SCOPE)
    for memory in members.get("memories", ()):
        own = {"scope": scope, **({"content": memory} if isinstance(memory, str) else _memory_members(name, memory))}
        store.add(new_memory_id(world), world.tick(), **own)
    return str(store.object["id"])


def _make_skill(world: World, name: str, members: Json) -> str:
    package = write_package(name, members)
    return str(put_skill(world, name, package, members.get("description", ""), default=True)["id"])


def _make_toolbox(world: World, name: str, members: Json) -> str:
    made = put_toolbox(world, name, members)
    world.store.toolboxes[name].default = made["version"]
    return str(made["id"])


class ResourceKind(NamedTuple):
    """A kind of resource: its members with allowed types, and the function that creates a resource."""

    members: Mapping[str, tuple[type, ...]]
    make: Callable[[World, str, Json], str]


def _members(texts: str, objects: str = "", lists: str = "", **others: tuple[type, ...]) -> dict[str, tuple[type, ...]]:
    """Map member names to types, given the names of the strings, objects and lists."""
    typed: dict[str, tuple[type, ...]] = dict.fromkeys(texts.split(), (str,))
    return typed | dict.fromkeys(objects.split(), (dict,)) | dict.fromkeys(lists.split(), (list, tuple)) | others


RESOURCES: Mapping[str, ResourceKind] = {
    "connection": ResourceKind(
        _members("type target", "metadata", credentials=(str, dict), isDefault=(bool,)), _make_connection
    ),
    "deployment": ResourceKind(
        _members("modelName modelVersion modelPublisher connectionName", "capabilities sku"), _make_deployment
    ),
    "index": ResourceKind(
        _members(
            "version type connectionName indexName description vectorStoreId databaseName containerName",
            "tags fieldMapping embeddingConfiguration",
        ),
        _make_index,
    ),
    "dataset": ResourceKind(_members("version type dataUri connectionName description", "files tags"), _make_dataset),
    "memory_store": ResourceKind(_members("description scope", "definition metadata", "memories"), _make_memory_store),
    "skill": ResourceKind(
        _members("instructions description license compatibility", "metadata", "allowed_tools"), _make_skill
    ),
    "toolbox": ResourceKind(_members("description", "metadata policies", "tools skills"), _make_toolbox),
}
"""The kinds of resources that a test can create, by the name of the `Mock` method."""


def make_resource(world: World, kind: str, name: str, members: Json) -> str:
    """Create a resource of a kind and return its id; ConfigError for unknown or mistyped members."""
    known = RESOURCES[kind].members
    for member, value in members.items():
        if member not in known:
            raise ConfigError(
                f"{kind}({show(name)}, {member}=…): no member {show(member)}. {suggest_name(member, known)}"
            )
        if not isinstance(value, known[member]):
            forms = " or ".join(_FORMS[form] for form in known[member] if form in _FORMS)
            raise ConfigError(f"{kind}({show(name)}, {member}={show(value)}): pass {forms}.")
    return RESOURCES[kind].make(world, name, members)


_FORMS: Mapping[type, str] = {str: "a text", dict: "an object", bool: "true or false", list: "a list"}
