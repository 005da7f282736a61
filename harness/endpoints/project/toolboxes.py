"""`/toolboxes`: tools that agents share, in versions that the service numbers, with a default version."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.toolboxes import render_toolbox
from harness.api.project.versions import page_list
from harness.core.exchange import Answer, Request
from harness.world.api_call import ApiCall
from harness.world.project_resources import put_toolbox
from harness.world.toolbox_server import ToolboxServer
from harness.world.world import World

TOOLBOXES = "/toolboxes"
TOOLBOX = f"{TOOLBOXES}/{{name}}"
VERSIONS = f"{TOOLBOX}/versions"
VERSION = f"{VERSIONS}/{{version}}"


@operation("POST", VERSIONS, project=True)
def create_version(call: ApiCall) -> Answer:
    """Add a version to a toolbox."""
    return Answer(200, put_toolbox(call.world, call.request.params["name"], call.request.body))


@operation("GET", TOOLBOXES, project=True)
def list_toolboxes(call: ApiCall) -> Answer:
    """List the toolboxes, newest first unless `order=asc`."""
    shown = [render_toolbox(toolbox, call.world.as_of) for toolbox in call.world.store.toolboxes.values()]
    return Answer(200, page_list(shown, call.request.query))


@operation("GET", TOOLBOX, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Read one toolbox."""
    return Answer(200, render_toolbox(call.world.store.toolboxes[call.request.params["name"]], call.world.as_of))


@operation("PATCH", TOOLBOX, project=True)
def update(call: ApiCall) -> Answer:
    """Make another version the default."""
    toolbox = call.world.store.toolboxes[call.request.params["name"]]
    toolbox.default, toolbox.updated_at = call.request.body["default_version"], call.world.tick()
    return Answer(200, render_toolbox(toolbox, call.world.as_of))


@operation("DELETE", TOOLBOX, project=True)
def delete(call: ApiCall) -> Answer:
    """Forget a toolbox with all its versions."""
    del call.world.store.toolboxes[call.request.params["name"]]
    return Answer(204, b"")


@operation("GET", VERSIONS, project=True)
def list_versions(call: ApiCall) -> Answer:
    """List the versions of a toolbox, newest first unless `order=asc`."""
    versions = call.world.store.toolboxes[call.request.params["name"]].versions
    return Answer(200, page_list(list(versions.values()), call.request.query))


@operation("GET", VERSION, project=True)
def retrieve_version(call: ApiCall) -> Answer:
    """Read one version of a toolbox."""
    return Answer(200, call.world.store.toolboxes[call.request.params["name"]].versions[call.request.params["version"]])


@operation("DELETE", VERSION, project=True)
def delete_version(call: ApiCall) -> Answer:
    """Forget one version; without any a toolbox is gone."""
    toolboxes, name = call.world.store.toolboxes, call.request.params["name"]
    toolboxes[name].remove(call.request.params["version"])
    if not toolboxes[name].versions:
        del toolboxes[name]
    return Answer(204, b"")


@operation("POST", f"{VERSION}/mcp", project=True)
def call_version(call: ApiCall) -> Answer:
    """Answer a call over MCP to a version, as JSON, never as a stream."""
    return _answer_over_mcp(call.request, call.world, call.request.params["version"])


@operation("POST", f"{TOOLBOX}/mcp", project=True)
def call_default(call: ApiCall) -> Answer:
    """Answer a call over MCP to the default version."""
    return _answer_over_mcp(call.request, call.world, call.world.store.toolboxes[call.request.params["name"]].default)


@operation("POST", f"{TOOLBOX}:invoke_mcp", project=True)
def invoke(call: ApiCall) -> Answer:
    """Answer a call over MCP to the default version, by the address that the SDK has for it."""
    return call_default(call)


def _answer_over_mcp(request: Request, world: World, version: str) -> Answer:
    answer = ToolboxServer(world, world.store.toolboxes[request.params["name"]].versions[version]).answer(
        request.body or {}
    )
    return Answer(202, b"") if answer is None else Answer(200, answer)
