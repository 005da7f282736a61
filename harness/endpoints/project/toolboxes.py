"""`/toolboxes`: tools that agents share, in versions that the service numbers; one of them is the default."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.toolboxes import render_toolbox
from harness.api.project.versions import page_list
from harness.core.exchange import Answer, Request
from harness.world.project_resources import put_toolbox
from harness.world.toolbox_server import ToolboxServer
from harness.world.world import World

TOOLBOXES = "/toolboxes"
TOOLBOX = f"{TOOLBOXES}/{{name}}"
VERSIONS = f"{TOOLBOX}/versions"
VERSION = f"{VERSIONS}/{{version}}"


@operation("POST", VERSIONS, project=True)
def create_version(request: Request, world: World) -> Answer:
    """A new version of a toolbox."""
    return Answer(200, put_toolbox(world, request.params["name"], request.body))


@operation("GET", TOOLBOXES, project=True)
def list_toolboxes(request: Request, world: World) -> Answer:
    """The toolboxes, newest first unless `order=asc`."""
    shown = [render_toolbox(each, world.as_of) for each in world.store.toolboxes.values()]
    return Answer(200, page_list(shown, request.query))


@operation("GET", TOOLBOX, project=True)
def retrieve(request: Request, world: World) -> Answer:
    """One toolbox."""
    return Answer(200, render_toolbox(world.store.toolboxes[request.params["name"]], world.as_of))


@operation("PATCH", TOOLBOX, project=True)
def update(request: Request, world: World) -> Answer:
    """Make another version the default."""
    toolbox = world.store.toolboxes[request.params["name"]]
    toolbox.default, toolbox.updated_at = request.body["default_version"], world.tick()
    return Answer(200, render_toolbox(toolbox, world.as_of))


@operation("DELETE", TOOLBOX, project=True)
def delete(request: Request, world: World) -> Answer:
    """Forget a toolbox with all its versions."""
    del world.store.toolboxes[request.params["name"]]
    return Answer(204, b"")


@operation("GET", VERSIONS, project=True)
def list_versions(request: Request, world: World) -> Answer:
    """The versions of a toolbox, newest first unless `order=asc`."""
    versions = world.store.toolboxes[request.params["name"]].versions
    return Answer(200, page_list(list(versions.values()), request.query))


@operation("GET", VERSION, project=True)
def retrieve_version(request: Request, world: World) -> Answer:
    """One version of a toolbox."""
    return Answer(200, world.store.toolboxes[request.params["name"]].versions[request.params["version"]])


@operation("DELETE", VERSION, project=True)
def delete_version(request: Request, world: World) -> Answer:
    """Forget one version; without any a toolbox is gone."""
    toolboxes, name = world.store.toolboxes, request.params["name"]
    toolboxes[name].remove(request.params["version"])
    if not toolboxes[name].versions:
        del toolboxes[name]
    return Answer(204, b"")


@operation("POST", f"{VERSION}/mcp", project=True)
def call_version(request: Request, world: World) -> Answer:
    """A call over MCP to a version; the answer is JSON, never a stream."""
    return _answer_over_mcp(request, world, request.params["version"])


@operation("POST", f"{TOOLBOX}/mcp", project=True)
def call_default(request: Request, world: World) -> Answer:
    """A call over MCP to the default version."""
    return _answer_over_mcp(request, world, world.store.toolboxes[request.params["name"]].default)


@operation("POST", f"{TOOLBOX}:invoke_mcp", project=True)
def invoke(request: Request, world: World) -> Answer:
    """The same by the address that the SDK has for it."""
    return call_default(request, world)


def _answer_over_mcp(request: Request, world: World, version: str) -> Answer:
    answer = ToolboxServer(world, world.store.toolboxes[request.params["name"]].versions[version]).answer(
        request.body or {}
    )
    return Answer(202, b"") if answer is None else Answer(200, answer)
