"""Resources that a test creates in its World: their kinds, declared by other packages."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.registry import Registry, suggest_name
from harness.core.text import show
from harness.world.world import World

MemberTypes = Mapping[str, tuple[type, ...]]
"""The members of a resource, under the API's names, with their allowed types."""
MakeResource = Callable[[World, str, Json], str]
"""Creates a resource with a name and members; returns its id."""


class ResourceKind(NamedTuple):
    """A kind of resource: its members, any with None, and the function that creates a resource."""

    members: MemberTypes | None
    make: MakeResource


RESOURCES: Registry[ResourceKind] = Registry("kind of resource")
"""The kinds of resources by the name of the `Mock` method."""


def declare_resource(name: str, members: MemberTypes | None) -> Callable[[MakeResource], MakeResource]:
    """Register the function that creates the resources of a kind."""

    def register(make: MakeResource) -> MakeResource:
        RESOURCES.add(name, ResourceKind(members, make), make.__module__)
        return make

    return register


def member_types(texts: str, objects: str = "", lists: str = "", **others: tuple[type, ...]) -> MemberTypes:
    """Map member names to types, given the names of the strings, objects and lists."""
    typed: dict[str, tuple[type, ...]] = dict.fromkeys(texts.split(), (str,))
    return typed | dict.fromkeys(objects.split(), (dict,)) | dict.fromkeys(lists.split(), (list, tuple)) | others


def make_resource(world: World, kind: str, name: str, members: Json) -> str:
    """Create a resource of a kind and return its id; ConfigError for unknown or mistyped members."""
    known = RESOURCES.find(kind).members
    if known is not None:
        _check_members(members, known, f"{kind}({show(name)}")
    return RESOURCES[kind].make(world, name, members)


def _check_members(members: Json, known: MemberTypes, called: str) -> None:
    for member, value in members.items():
        if member not in known:
            raise ConfigError(f"{called}, {member}=…): no member {show(member)}. {suggest_name(member, known)}")
        if not isinstance(value, known[member]):
            forms = " or ".join(_FORMS[form] for form in known[member] if form in _FORMS)
            raise ConfigError(f"{called}, {member}={show(value)}): pass {forms}.")


_FORMS: Mapping[type, str] = {str: "a text", dict: "an object", bool: "true or false", list: "a list"}
