"""`/connections` and `/deployments`: what a project has from the start, as a test gave it."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.connections import fits_query, hide_credentials
from harness.api.project.versions import value_list
from harness.core.exchange import Answer, Request
from harness.world.world import World

CONNECTION = "/connections/{name}"
DEPLOYMENT_FILTERS = {"modelPublisher": "modelPublisher", "modelName": "modelName", "deploymentType": "type"}


@operation("GET", "/connections", project=True)
def list_connections(request: Request, world: World) -> Answer:
    """The connections without their credentials, of one `connectionType`, or those that are `defaultConnection`."""
    shown = [
        hide_credentials(each)
        for each in world.store.connections.values()
        if fits_query(each, request.query, {"connectionType": "type"})
        and (each["isDefault"] or request.query.get("defaultConnection") != "true")
    ]
    return Answer(200, value_list(shown))


@operation("GET", CONNECTION, project=True)
def retrieve_connection(request: Request, world: World) -> Answer:
    """A connection without its credentials."""
    return Answer(200, hide_credentials(world.store.connections[request.params["name"]]))


@operation("POST", f"{CONNECTION}/getConnectionWithCredentials", project=True)
def retrieve_with_credentials(request: Request, world: World) -> Answer:
    """A connection with its credentials; the request has no body."""
    return Answer(200, world.store.connections[request.params["name"]])


@operation("GET", "/deployments", project=True)
def list_deployments(request: Request, world: World) -> Answer:
    """The deployments, of one `modelPublisher`, `modelName` or `deploymentType` when asked for."""
    every = world.store.deployments.values()
    return Answer(200, value_list(each for each in every if fits_query(each, request.query, DEPLOYMENT_FILTERS)))


@operation("GET", "/deployments/{name}", project=True)
def retrieve_deployment(request: Request, world: World) -> Answer:
    """One deployment."""
    return Answer(200, world.store.deployments[request.params["name"]])
