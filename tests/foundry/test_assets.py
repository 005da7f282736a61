"""Indexes and datasets of a project: in versions that the client names, made and changed by a merge patch."""

from typing import Any

import pytest

from tests.support.foundry import ProjectClient

INDEX = {"type": "AzureSearch", "connectionName": "search", "indexName": "docs"}


class TestAnIndex:
    def test_an_index_is_made_and_changed_by_the_same_request(self, project: ProjectClient) -> None:
        made = project.ask("PATCH /indexes/i/versions/1.2", INDEX, {"content-type": "application/merge-patch+json"})
        named = {"name": "i", "version": "1.2"}
        assert (made.status, list(made.body.items())) == (200, [*INDEX.items(), *named.items()])
        assert project.get("/indexes/i/versions/1.2") == made.body
        changed = project.ask("PATCH /indexes/i/versions/1.2", {"indexName": None, "tags": {"a": "b"}}).body
        assert changed == {"type": "AzureSearch", "connectionName": "search", "tags": {"a": "b"}, **named}

    def test_an_index_is_listed_by_its_newest_version(self, project: ProjectClient) -> None:
        for version in ("1.2", "1.3"):
            project.ask(f"PATCH /indexes/i/versions/{version}", INDEX)
        project.mock.index("j", connectionName="c", indexName="d")
        listed = [(entry["name"], entry["version"]) for entry in project.get("/indexes")["value"]]
        assert listed == [("i", "1.3"), ("j", "1")]
        assert project.names("/indexes/i/versions", "version") == ["1.3", "1.2"]
        assert project.get("/indexes/x/versions") == {"value": []}

    def test_an_index_is_forgotten_more_than_once(self, project: ProjectClient) -> None:
        project.ask("PATCH /indexes/i/versions/1", INDEX)
        for _ in range(2):
            gone = project.ask("DELETE /indexes/i/versions/1")
            assert (gone.status, gone.body) == (204, b"")
        assert project.ask("GET /indexes/i/versions/1").rule == "asset_not_found"
        assert project.get("/indexes") == {"value": []}


class TestADataset:
    def test_a_dataset_is_answered_as_recorded(self, project: ProjectClient) -> None:
        made = project.ask("PATCH /datasets/d/versions/1", {"dataUri": "https://a/b/c.txt", "type": "uri_file"}).body
        times = made.pop("systemData")
        assert times["createdAt"] == times["lastModifiedAt"]
        assert times["createdAt"].startswith("2026-09-21T")
        assert times["createdAt"].endswith(".0000000+00:00")
        named = [("name", "d"), ("version", "1"), ("displayName", "d"), ("description", None), ("tags", {})]
        assert list(made.items()) == [
            ("id", "azureai://accounts/harness/projects/p/data/d/versions/1"),
            *named,
            *[("type", "uri_file"), ("isReference", False), ("dataUri", "https://a/b/c.txt")],
            *[("isSingleFile", False), ("connectionName", None)],
        ]
        assert project.get("/datasets/d/versions/1")["isSingleFile"] is True

    def test_a_missing_dataset_is_refused_in_the_form_of_its_service(self, project: ProjectClient) -> None:
        answer = project.ask("GET /datasets/d/versions/2")
        said, error = answer.body, answer.body["error"]
        assert (answer.status, said["statusCode"]) == (404, 404)
        assert (said["componentName"], error["code"]) == ("dataset", "UserError")
        id = "azureai://accounts/harness/projects/p/data/d/versions/2"
        assert error["message"] == f"Could not find asset with ID: {id}"
        assert project.ask("POST /datasets/d/versions/2/credentials").rule == "asset_not_found"


@pytest.mark.parametrize(
    ("body", "rule"), [(b"{", "body_syntax"), (b"[]", "body_not_object"), (b'{"a": "\xff"}', "body_unicode")]
)
@pytest.mark.parametrize("kind", ["indexes", "datasets"])
def test_what_is_no_object_is_refused(project: ProjectClient, kind: str, body: bytes, rule: str) -> None:
    assert project.ask(f"PATCH /{kind}/a/versions/1", body).rule == rule
    assert project.get(f"/{kind}") == {"value": []}


@pytest.mark.parametrize("body", [None, {}, {"type": 5, "dataUri": [], "tags": 7, "version": None}])
@pytest.mark.parametrize("kind", ["indexes", "datasets"])
def test_odd_members_are_kept_without_harm(project: ProjectClient, kind: str, body: Any) -> None:
    assert project.ask(f"PATCH /{kind}/a/versions/1", body).status == 200
    assert len(project.get(f"/{kind}")["value"]) == 1
    assert project.mock.world.problems == []
