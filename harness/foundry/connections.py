"""`/connections` and `/deployments`: connections to other services and model deployments, which a test creates.

No request creates them. Their members and order are those of recorded answers, 2025-05 to 2026-03.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.api.operations import operation
from harness.contract.rule import RuleScope, WorldView, assumed, recorded, reported, rule
from harness.contract.rules.http.azure import GATEWAY_ERROR_FORM
from harness.core.errors import ApiError
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import omit
from harness.core.registry import TableKind, declare_table
from harness.foundry.resources import ASSETS_REPOSITORY, project_case, value_list
from harness.world.api_call import ApiCall
from harness.world.resources import declare_resource, member_types
from harness.world.world import World

SCOPE = RuleScope(area="resources", dialects=FOUNDRY)
CONNECTIONS: TableKind[Json] = declare_table("connections")
DEPLOYMENTS: TableKind[Json] = declare_table("deployments")
CONNECTION = "/connections/{name}"
DEPLOYMENT_FILTERS = {"modelPublisher": "modelPublisher", "modelName": "modelName", "deploymentType": "type"}
ACCOUNT = "harness"
"""The name of the account that a project belongs to."""
PROJECT = "harness"
"""The name of the project in resources that a test creates."""
SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/harness/providers"
NO_KEY: Json = {"type": "AAD"}
"""The credentials of a connection with neither key nor token: Entra ID."""


def project_of(root: str) -> str:
    """Return the name of the project in the root of a path."""
    return root.rpartition("/projects/")[2].partition("/")[0] or PROJECT


def new_connection(name: str, members: Json) -> Json:
    """Make a connection with its credentials; `members`: `type`, `target`, `credentials`, `isDefault`, `metadata`.

    The credentials end with their type (recorded).
    """
    given = members.get("credentials") or NO_KEY
    credentials = {"key": given, "type": "ApiKey"} if isinstance(given, str) else given
    kind = credentials.get("type", "CustomKeys")
    account = f"{SUBSCRIPTION}/Microsoft.CognitiveServices/accounts/{ACCOUNT}"
    return {
        "name": name,
        "id": f"{account}/projects/{PROJECT}/connections/{name}",
        "type": members.get("type", "AzureOpenAI"),
        "target": members.get("target", "https://harness.example/"),
        "isDefault": members.get("isDefault", False),
        "credentials": {**omit(credentials, "type"), "type": kind},
        "metadata": members.get("metadata") or {},
    }


def hide_credentials(connection: Json) -> Json:
    """Hide the credentials of a connection except their type, as everyone may see it."""
    return {**connection, "credentials": {"type": connection["credentials"]["type"]}}


def new_deployment(name: str, members: Json) -> Json:
    """Make a model deployment; without `modelName`, of the model with the same name."""
    model = members.get("modelName", name)
    made = {
        "name": name,
        "type": "ModelDeployment",
        "modelName": model,
        "modelVersion": members.get("modelVersion", "1"),
        "modelPublisher": members.get("modelPublisher", "OpenAI"),
        "capabilities": members.get("capabilities", {"chat_completion": "true"}),
        "sku": members.get("sku", {"name": "GlobalStandard", "capacity": 100}),
    }
    return {**made, "connectionName": members["connectionName"]} if "connectionName" in members else made


def fits_query(resource: Json, query: Mapping[str, Any], filters: Mapping[str, str]) -> bool:
    """Return whether a resource matches the filters in a query; `filters` maps a parameter to its member."""
    return all(name not in query or str(resource.get(member)) == query[name] for name, member in filters.items())


@operation("GET", "/connections", project=True)
def list_connections(call: ApiCall) -> Answer:
    """List the connections without credentials, optionally by `connectionType` or only the defaults."""
    shown = [
        hide_credentials(connection)
        for connection in call.store.table(CONNECTIONS).values()
        if fits_query(connection, call.query, {"connectionType": "type"})
        and (connection["isDefault"] or call.query.get("defaultConnection") != "true")
    ]
    return Answer(200, value_list(shown))


@operation("GET", CONNECTION, project=True)
def retrieve_connection(call: ApiCall) -> Answer:
    """Retrieve a connection without its credentials."""
    return Answer(200, hide_credentials(call.store.table(CONNECTIONS)[call.params["name"]]))


@operation("POST", f"{CONNECTION}/getConnectionWithCredentials", project=True)
def retrieve_with_credentials(call: ApiCall) -> Answer:
    """Retrieve a connection with its credentials; the request has no body."""
    return Answer(200, call.store.table(CONNECTIONS)[call.params["name"]])


@operation("GET", "/deployments", project=True)
def list_deployments(call: ApiCall) -> Answer:
    """List the deployments, optionally by `modelPublisher`, `modelName` or `deploymentType`."""
    every = call.store.table(DEPLOYMENTS).values()
    return Answer(
        200, value_list(deployment for deployment in every if fits_query(deployment, call.query, DEPLOYMENT_FILTERS))
    )


@operation("GET", "/deployments/{name}", project=True)
def retrieve_deployment(call: ApiCall) -> Answer:
    """Retrieve a deployment."""
    return Answer(200, call.store.table(DEPLOYMENTS)[call.params["name"]])


@declare_resource("connection", member_types("type target", "metadata", credentials=(str, dict), isDefault=(bool,)))
def make_connection(world: World, name: str, members: Json) -> str:
    """Create a connection; unless its members say otherwise, the first one of its type is the default."""
    made = new_connection(name, members)
    others = [
        connection for connection in world.store.table(CONNECTIONS).values() if connection["type"] == made["type"]
    ]
    made["isDefault"] = members.get("isDefault", not any(connection["isDefault"] for connection in others))
    world.store.table(CONNECTIONS)[name] = made
    return str(made["id"])


@declare_resource(
    "deployment", member_types("modelName modelVersion modelPublisher connectionName", "capabilities sku")
)
def make_deployment(world: World, name: str, members: Json) -> str:
    """Create a deployment."""
    world.store.table(DEPLOYMENTS)[name] = new_deployment(name, members)
    return name


@rule(
    ApiError(
        404, "Connection {name} can't be found in this workspace", code="NotFound", body_template=GATEWAY_ERROR_FORM
    ),
    reported("azure-sdk-for-python: what the tests of azure-ai-projects expect", "2025"),
    assumed("the code and the form, which are those of a deployment"),
    on=("GET /connections/{name}", "POST /connections/{name}/getConnectionWithCredentials"),
    rejects={"other": project_case("GET /connections/other")},
    fix="Create it first: `mock.connection(…)`.",
)
def connection_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """Connections must exist."""
    if request.params["name"] not in world.store.table(CONNECTIONS):
        yield {"name": request.params["name"]}


@rule(
    ApiError(404, "Deployment not found", code="NotFound", body_template=GATEWAY_ERROR_FORM),
    recorded(f"{ASSETS_REPOSITORY}: azure-ai-projects for Java, DeploymentsAsyncClientTest", "2026-03-21"),
    on="GET /deployments/{name}",
    rejects=[project_case("GET /deployments/other")],
    fix="Create it first: `mock.deployment(…)`.",
)
def project_deployment_not_found(request: Request, world: WorldView) -> bool:
    """A deployment that is read must exist."""
    return request.params["name"] not in world.store.table(DEPLOYMENTS)
