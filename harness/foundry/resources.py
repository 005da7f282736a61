"""What the resources of a project share: errors, pages of lists, tables of versions with their endpoints, examples."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha1
from typing import Any
from urllib.parse import urlsplit

from harness.api.operations import operation
from harness.api.pages import page
from harness.api.project_types import PROJECT_ERROR_FORM
from harness.contract.rule import Case, WorldView
from harness.contract.rules.example_requests import KEY_HEADERS, PROJECT_PATH
from harness.core.errors import REQUEST_ID, ApiError, bad_request
from harness.core.exchange import EMPTY_MAPPING, Answer, Json, Request
from harness.core.json_values import as_object, omit
from harness.core.registry import TableKind
from harness.world.api_call import ApiCall
from harness.world.world import World

ASSETS_REPOSITORY = "Azure/azure-sdk-assets"
PREVIEWS = {**KEY_HEADERS, "foundry-features": "MemoryStores=V1Preview, Skills=V1Preview"}
PROJECT_LIST = ("data", "first_id", "last_id", "has_more", "object")
"""The members of a paged list, in order (recorded 2026-02 to 2026-05: memory stores, toolboxes)."""


def project_error(
    status: int,
    message: str,
    param: str | None = None,
    code: str = "invalid_payload",
    type: str = "invalid_request_error",
) -> ApiError:
    """Return an error of a Foundry project's own service."""
    return ApiError(status, message, param, code, type, body_template=PROJECT_ERROR_FORM)


def project_not_found(message: str) -> ApiError:
    """Return the error for something that a project does not have; recorded: it has no `param`."""
    return without_param(project_error(404, message, None, "not_found", "error"))


INVALID_PAYLOAD = bad_request(
    "Invalid payload",
    code="invalid_payload",
    body_template={"error": {**PROJECT_ERROR_FORM["error"], "details": "{details}"}},
)
"""Several faults of one request, listed in `details`; a single fault is an error of its own."""


def single_fault_before(message: str, param: str) -> Json:
    """Return the body of an error with a single fault as up to 2026-04: in the `details` (recorded 2025-10-29)."""
    detail = {"code": "ValidationError", "message": message, "target": param, "details": []}
    said = {"code": "{code}", "message": "{message}", "details": [detail]}
    return {"error": {**said, "additional_info": {"request_id": REQUEST_ID}}}


def validation_detail(message: str, param: str) -> Json:
    """Return one of several faults, as in the `details` of an error."""
    return {"code": "ValidationError", "message": message, "param": param, "type": "error"}


def lacks(name: str) -> str:
    """Return what a project says of a member that a body lacks."""
    return f'required: Required properties ["{name}"] are not present'


def has_type(given: str, wanted: str) -> str:
    """Return what a project says of a value of another JSON type than it wants."""
    return f'type: Value is "{given}" but should be "{wanted}"'


def without_param(error: ApiError) -> ApiError:
    """Return an error of a project without `param`, as some of its services send it."""
    template = error.body_template or PROJECT_ERROR_FORM
    form = omit(template["error"], "param")
    return replace(error, body_template={"error": form})


def project_case(call: str, body: Any = None, **members: Any) -> Case:
    """Make an example that sends a request below a project (`GET /toolboxes/x?a=b`) like a client with previews."""
    method, _, rest = call.partition(" ")
    path, mark, query = rest.partition("?")
    on = f"{method} !{PROJECT_PATH}{path}?api-version=v1{mark and '&'}{query}"
    return Case(body, **{"on": on, "headers": PREVIEWS, **members})


def origin_of(world: World, headers: Mapping[str, str] = EMPTY_MAPPING) -> str:
    """Return the scheme and host of the mock, or those that a request with these headers was sent to."""
    known = urlsplit(world.base_url)
    return f"{known.scheme or world.scheme}://{known.netloc or headers.get('host', 'localhost')}"


def value_list(items: Iterable[Json], _query: Mapping[str, Any] = EMPTY_MAPPING) -> Json:
    """Make a list without pages, like those of Azure's own resources."""
    return {"value": list(items)}


def page_list(
    items: Sequence[Json],
    query: Mapping[str, Any],
    members: Sequence[str] = PROJECT_LIST,
    no_id: str | None = "",
    id_member: str = "id",
) -> Json:
    """Make a page of `items` (oldest first), newest first unless `order=asc`; an empty one has the ids `no_id`."""
    shown = page(items, query, id_member=id_member)
    ends = dict.fromkeys(("first_id", "last_id"), no_id) if not shown["data"] else {}
    return {name: {**shown, **ends}[name] for name in members}


def agent_page(
    items: Sequence[Json], query: Mapping[str, Any], members: Sequence[str] = PROJECT_LIST, id: str = "id"
) -> Json:
    """Make a page as the agent service does, of `items` (oldest first); recorded: an empty one has no ids."""
    shown = page_list(items, query, members, id_member=id)
    ends = () if shown["data"] else ("first_id", "last_id")
    return {name: value for name, value in shown.items() if name not in ends}


@dataclass(slots=True)
class Versioned:
    """A named resource and its versions by name, oldest first.

    `default` is the version that the bare name refers to, `last_number` the last number assigned by the service;
    `packages` holds the bytes of versions, `uploaded` names those whose bytes came as files.
    """

    id: str = ""
    created_at: int = 0
    updated_at: int = 0
    default: str = ""
    last_number: int = 0
    versions: dict[str, Json] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)
    uploaded: set[str] = field(default_factory=set)

    @property
    def latest(self) -> Json:
        """The newest version."""
        return self.versions[next(reversed(self.versions))]

    def package(self, version: Any = None) -> bytes:
        """Return the bytes of a version, or of the default one if there is no such version."""
        return self.packages[version if version in self.packages else self.default]

    def take_number(self, kind: str, name: str) -> str:
        """Return the number of the next version; recorded: a recreated resource has the same id as before."""
        self.id = f"{kind}_{sha1(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
        self.last_number += 1
        return str(self.last_number)

    def add(self, now: int, made: Json) -> Json:
        """Add a version, the newest unless its name is known; the first one is the default."""
        name = made["version"]
        self.versions[name] = made
        self.created_at, self.updated_at = self.created_at or now, now
        self.default = self.default or name
        return made

    def remove(self, version: str) -> None:
        """Remove a version; if it was the default, the newest one takes its place."""
        self.versions.pop(version, None)
        self.packages.pop(version, None)
        if self.default == version and self.versions:
            self.default = self.latest["version"]


class Collection:
    """The resources of a project in a table of versions, and their endpoints, of which each kind declares its own."""

    table: TableKind[Versioned]
    list_items: Callable[..., Json] = staticmethod(page_list)
    """Lists resources or versions, oldest first, by the query of a request."""

    def show(self, resource: Versioned, as_of: str) -> Json:
        """Show a resource in its form on a day."""
        raise NotImplementedError

    def show_version(self, version: Json) -> Json:
        """Show a version as stored."""
        return version

    def list_all(self, call: ApiCall) -> Answer:
        """List the resources."""
        shown = [self.show(resource, call.world.as_of) for resource in call.store.table(self.table).values()]
        return Answer(200, self.list_items(shown, call.query))

    def retrieve(self, call: ApiCall) -> Answer:
        """Retrieve a resource."""
        return Answer(200, self.show(self.find(call), call.world.as_of))

    def delete(self, call: ApiCall) -> Answer:
        """Delete a resource with all its versions."""
        del call.store.table(self.table)[call.params["name"]]
        return Answer(204, b"")

    def list_versions(self, call: ApiCall) -> Answer:
        """List the versions of a resource."""
        resource = call.store.table(self.table).get(call.params["name"]) or Versioned()
        return Answer(200, self.list_items([*map(self.show_version, resource.versions.values())], call.query))

    def retrieve_version(self, call: ApiCall) -> Answer:
        """Retrieve a version of a resource."""
        return Answer(200, self.show_version(self.find(call).versions[call.params["version"]]))

    def delete_version(self, call: ApiCall) -> Answer:
        """Delete a version; a resource without versions is gone."""
        table, name = call.store.table(self.table), call.params["name"]
        resource = table.get(name) or Versioned()
        resource.remove(call.params["version"])
        if not resource.versions:
            table.pop(name, None)
        return Answer(204, b"")

    def find(self, call: ApiCall) -> Versioned:
        """Return the resource in the path of a request."""
        return call.store.table(self.table)[call.params["name"]]

    def find_or_make(self, world: World, name: str) -> Versioned:
        """Return a resource, creating it without versions if it does not exist."""
        return world.store.table(self.table).setdefault(name, Versioned())

    def register_versions(self) -> None:
        """Register the endpoints of versions and the list of all resources."""
        resource = f"/{self.table.name}/{{name}}"
        operation("GET", f"/{self.table.name}", project=True)(self.list_all)
        operation("GET", f"{resource}/versions", project=True)(self.list_versions)
        operation("GET", f"{resource}/versions/{{version}}", project=True)(self.retrieve_version)
        operation("DELETE", f"{resource}/versions/{{version}}", project=True)(self.delete_version)

    def register(self) -> None:
        """Register all endpoints that versioned resources have in common."""
        resource = f"/{self.table.name}/{{name}}"
        operation("GET", resource, project=True)(self.retrieve)
        operation("DELETE", resource, project=True)(self.delete)
        self.register_versions()


def find_missing(request: Request, world: WorldView, table: TableKind[Versioned]) -> Iterator[Json]:
    """Yield the facts of a named resource, or of the requested version, if the project lacks it."""
    name = request.params["name"]
    known = versions_in(world, table, name)
    body = as_object(request.body)
    version = request.params.get("version", body.get("default_version"))
    if not known:
        yield {"name": name, "version": ""}
    elif isinstance(version, str) and version not in known:
        yield {"name": name, "version": f" version '{version}'"}


def versions_in(world: WorldView, table: TableKind[Versioned], name: str) -> Mapping[str, Json]:
    """Return the versions of a resource by name; empty for an unknown one."""
    resources = world.store.table(table)
    return resources[name].versions if name in resources else {}
