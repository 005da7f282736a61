"""`/toolboxes`: tools that agents share, in versions numbered by the service, with a default version."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.lists import page_list
from harness.api.project.toolboxes import render_toolbox
from harness.core.exchange import Answer
from harness.world.api_call import ApiCall
from harness.world.project_resources import put_toolbox
from harness.world.toolbox_server import ToolboxServer

TOOLBOXES = "/toolboxes"
TOOLBOX = f"{TOOLBOXES}/{{name}}"
VERSIONS = f"{TOOLBOX}/versions"
VERSION = f"{VERSIONS}/{{version}}"


@operation("POST", VERSIONS, project=True)
def create_version(call: ApiCall) -> Answer:
    """Add a version to a toolbox."""
    return Answer(200, put_toolbox(call.world, call.params["name"], call.body))


@operation("GET", TOOLBOXES, project=True)
def list_toolboxes(call: ApiCall) -> Answer:
    """List the toolboxes, newest first unless `order=asc`."""
    shown = [render_toolbox(toolbox, call.world.as_of) for toolbox in call.store.toolboxes.values()]
    return Answer(200, page_list(shown, call.query))


@operation("GET", TOOLBOX, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a toolbox."""
    return Answer(200, render_toolbox(call.store.toolboxes[call.params["name"]], call.world.as_of))


@operation("PATCH", TOOLBOX, project=True)
def update(call: ApiCall) -> Answer:
    """Change the default version."""
    toolbox = call.store.toolboxes[call.params["name"]]
    toolbox.default, toolbox.updated_at = call.body["default_version"], call.world.tick()
    return Answer(200, render_toolbox(toolbox, call.world.as_of))


@operation("DELETE", TOOLBOX, project=True)
def delete(call: ApiCall) -> Answer:
    """Delete a toolbox with all its versions."""
    del call.store.toolboxes[call.params["name"]]
    return Answer(204, b"")


@operation("GET", VERSIONS, project=True)
def list_versions(call: ApiCall) -> Answer:
    """List the versions of a toolbox, newest first unless `order=asc`."""
    versions = call.store.toolboxes[call.params["name"]].versions
    return Answer(200, page_list(list(versions.values()), call.query))


@operation("GET", VERSION, project=True)
def retrieve_version(call: ApiCall) -> Answer:
    """Retrieve a version of a toolbox."""
    return Answer(200, call.store.toolboxes[call.params["name"]].versions[call.params["version"]])


@operation("DELETE", VERSION, project=True)
def delete_version(call: ApiCall) -> Answer:
    """Delete a version; a toolbox without versions is gone."""
    toolboxes, name = call.store.toolboxes, call.params["name"]
    toolboxes[name].remove(call.params["version"])
    if not toolboxes[name].versions:
        del toolboxes[name]
    return Answer(204, b"")


@operation("POST", f"{VERSION}/mcp", project=True)
def call_version(call: ApiCall) -> Answer:
    """Answer an MCP call to a version, as JSON, never as a stream."""
    return _answer_over_mcp(call, call.params["version"])


@operation("POST", f"{TOOLBOX}/mcp", project=True)
def call_default(call: ApiCall) -> Answer:
    """Answer an MCP call to the default version."""
    return _answer_over_mcp(call, call.store.toolboxes[call.params["name"]].default)


@operation("POST", f"{TOOLBOX}:invoke_mcp", project=True)
def invoke(call: ApiCall) -> Answer:
    """Answer an MCP call to the default version, at the address that the SDK uses."""
    return call_default(call)


def _answer_over_mcp(call: ApiCall, version: str) -> Answer:
    answer = ToolboxServer(call.world, call.store.toolboxes[call.params["name"]].versions[version]).answer(
        call.body or {}
    )
    return Answer(202, b"") if answer is None else Answer(200, answer)
