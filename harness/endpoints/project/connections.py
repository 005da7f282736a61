"""`/connections` and `/deployments`: resources that a project has from the start, as set by the test."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.connections import fits_query, hide_credentials
from harness.api.project.lists import value_list
from harness.core.exchange import Answer
from harness.world.api_call import ApiCall

CONNECTION = "/connections/{name}"
DEPLOYMENT_FILTERS = {"modelPublisher": "modelPublisher", "modelName": "modelName", "deploymentType": "type"}


@operation("GET", "/connections", project=True)
def list_connections(call: ApiCall) -> Answer:
    """List the connections without credentials, optionally by `connectionType` or only the defaults."""
    shown = [
        hide_credentials(connection)
        for connection in call.store.connections.values()
        if fits_query(connection, call.query, {"connectionType": "type"})
        and (connection["isDefault"] or call.query.get("defaultConnection") != "true")
    ]
    return Answer(200, value_list(shown))


@operation("GET", CONNECTION, project=True)
def retrieve_connection(call: ApiCall) -> Answer:
    """Retrieve a connection without its credentials."""
    return Answer(200, hide_credentials(call.store.connections[call.params["name"]]))


@operation("POST", f"{CONNECTION}/getConnectionWithCredentials", project=True)
def retrieve_with_credentials(call: ApiCall) -> Answer:
    """Retrieve a connection with its credentials; the request has no body."""
    return Answer(200, call.store.connections[call.params["name"]])


@operation("GET", "/deployments", project=True)
def list_deployments(call: ApiCall) -> Answer:
    """List the deployments, optionally by `modelPublisher`, `modelName` or `deploymentType`."""
    every = call.store.deployments.values()
    return Answer(
        200, value_list(deployment for deployment in every if fits_query(deployment, call.query, DEPLOYMENT_FILTERS))
    )


@operation("GET", "/deployments/{name}", project=True)
def retrieve_deployment(call: ApiCall) -> Answer:
    """Retrieve a deployment."""
    return Answer(200, call.store.deployments[call.params["name"]])
