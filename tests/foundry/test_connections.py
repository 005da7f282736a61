"""Connections and deployments of a project: a test gives them, clients list and read them."""

import pytest

from tests.support.foundry import ProjectClient


class TestAConnection:
    def test_a_connection_is_shown_without_its_credentials_as_recorded(self, project: ProjectClient) -> None:
        given = {"type": "CognitiveSearch", "target": "https://search/"}
        id = project.mock.connection("search", **given, credentials="secret", metadata={"ApiType": "Azure"})
        assert list(project.get("/connections/search").items()) == [
            ("name", "search"),
            ("id", id),
            *given.items(),
            ("isDefault", True),
            ("credentials", {"type": "ApiKey"}),
            ("metadata", {"ApiType": "Azure"}),
        ]
        assert id.endswith("/projects/harness/connections/search")

    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            ("secret", {"key": "secret", "type": "ApiKey"}),
            ({"type": "SAS", "SAS": "?sig"}, {"SAS": "?sig", "type": "SAS"}),
            ({"type": "CustomKeys", "token": "t"}, {"token": "t", "type": "CustomKeys"}),
            ({"token": "t"}, {"token": "t", "type": "CustomKeys"}),
            ({}, {"type": "AAD"}),
        ],
    )
    def test_a_connection_shows_its_credentials_when_asked_without_a_body(
        self, project: ProjectClient, given: object, shown: object
    ) -> None:
        project.mock.connection("one", credentials=given)
        answer = project.ask("POST /connections/one/getConnectionWithCredentials")
        assert (answer.status, answer.body["credentials"]) == (200, shown)

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ({}, ["a", "b", "c"]),
            ({"connectionType": "AzureOpenAI"}, ["a", "c"]),
            ({"connectionType": "AzureOpenAI", "defaultConnection": "true"}, ["a"]),
            ({"defaultConnection": "false"}, ["a", "b", "c"]),
            ({"connectionType": "CosmosDB", "defaultConnection": "true"}, []),
        ],
    )
    def test_a_connection_is_found_by_its_type_and_as_the_default(
        self, project: ProjectClient, query: dict[str, str], names: list[str]
    ) -> None:
        for name, kind in (("a", "AzureOpenAI"), ("b", "AppInsights"), ("c", "AzureOpenAI")):
            project.mock.connection(name, type=kind)
        assert project.names("/connections", **query) == names

    def test_a_missing_connection_is_refused(self, project: ProjectClient) -> None:
        for call in ("GET /connections/x", "POST /connections/x/getConnectionWithCredentials"):
            answer = project.ask(call)
            error = {"code": "NotFound", "message": "Connection x can't be found in this workspace"}
            assert (answer.status, answer.body, answer.rule) == (404, {"error": error}, "connection_not_found")


class TestADeployment:
    def test_a_deployment_is_shown_as_recorded(self, project: ProjectClient) -> None:
        project.mock.deployment("mine", modelName="gpt-4o", modelVersion="2024-11-20")
        assert list(project.get("/deployments/mine").items()) == [
            ("name", "mine"),
            ("type", "ModelDeployment"),
            ("modelName", "gpt-4o"),
            ("modelVersion", "2024-11-20"),
            ("modelPublisher", "OpenAI"),
            ("capabilities", {"chat_completion": "true"}),
            ("sku", {"name": "GlobalStandard", "capacity": 100}),
        ]

    def test_a_deployment_is_found_by_what_the_query_says(self, project: ProjectClient) -> None:
        project.mock.deployment("a", modelName="gpt-4o")
        project.mock.deployment("b", modelName="Phi-4", modelPublisher="Microsoft", connectionName="c")
        for query, names in (
            ({}, ["a", "b"]),
            ({"deploymentType": "ModelDeployment"}, ["a", "b"]),
            ({"modelPublisher": "Microsoft"}, ["b"]),
            ({"modelName": "Phi-4"}, ["b"]),
            ({"modelName": "Phi-4", "modelPublisher": "OpenAI"}, []),
        ):
            assert project.names("/deployments", **query) == names
        assert project.get("/deployments/b")["connectionName"] == "c"


def test_two_projects_of_two_keys_share_nothing(project: ProjectClient) -> None:
    project.mock.connection("a")
    other = project.ask("GET /connections", headers={"api-key": "other"})
    assert other.body == {"value": []}
