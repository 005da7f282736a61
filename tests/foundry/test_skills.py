"""Skills of a project: versions that the service numbers, from JSON or from files, each with its package."""

from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest

from harness.api.skill_files import zip_files
from tests.support.foundry import ProjectClient, said

INLINE = {"description": "Helps.", "instructions": "Help politely.", "metadata": {"revision": "1"}}
SKILL_MD = b'---\nname: status\ndescription: "Writes a status."\n---\n\nWrite.\n'
PACKAGE = zip_files([("status/SKILL.md", SKILL_MD), ("status/template.md", b"# Status")])


def make(project: ProjectClient, name: str = "s", **content: Any) -> Any:
    answer = project.ask(f"POST /skills/{name}/versions", {"inline_content": {**INLINE, **content}})
    assert answer.status == 200, answer.body
    return answer.body


def upload(project: ProjectClient, *files: tuple[str, bytes], fields: bytes = b"") -> Any:
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="%b"\r\n\r\n%b\r\n'
    parts = [part % (name.encode(), data) for name, data in files]
    body = b"".join([*parts, fields, b"--x--\r\n"])
    return project.ask("POST /skills/s/versions", body, {"content-type": "multipart/form-data; boundary=x"})


class TestAVersion:
    def test_a_version_is_answered_as_recorded(self, project: ProjectClient) -> None:
        made = make(project)
        skill, told = made["skill_id"], [("description", "Helps."), ("created_at", made["created_at"])]
        assert list(made.items()) == [
            *[("id", f"{skill}:1"), ("skill_id", skill), ("name", "s"), ("version", "1")],
            *told,
            ("object", "skill.version"),
        ]
        assert project.get("/skills/s/versions/1") == made
        assert list(project.get("/skills/s").items()) == [
            *[("id", skill), ("name", "s")],
            *told,
            *[("default_version", "1"), ("latest_version", "1"), ("object", "skill")],
        ]

    def test_a_version_becomes_the_default_on_request(self, project: ProjectClient) -> None:
        make(project)
        make(project, description="More.")
        assert project.get("/skills/s")["default_version"] == "1"
        changed = project.ask("POST /skills/s", {"default_version": "2"}).body
        assert (changed["default_version"], changed["description"]) == ("2", "More.")
        assert project.ask("POST /skills/s", {"default_version": "3"}).rule == "skill_not_found"
        assert project.get("/skills/s") == changed

    def test_a_version_has_its_content_in_a_package(self, project: ProjectClient) -> None:
        make(project, license="MIT")
        answer = project.ask("GET /skills/s/versions/1/content")
        assert answer.headers["content-type"] == "application/zip"
        assert "filename=s-v1.zip;" in answer.headers["content-disposition"]
        text = ZipFile(BytesIO(answer.body)).read("SKILL.md").decode()
        front = "---\nname: s\ndescription: Helps.\nlicense: MIT\nmetadata:\n  revision: 1\n---"
        assert text == f"{front}\n\nHelp politely."

    def test_a_version_may_come_as_a_zip(self, project: ProjectClient) -> None:
        made = upload(project, ("s.zip", PACKAGE)).body
        assert (made["version"], made["description"]) == ("1", "Writes a status.")
        assert project.ask("GET /skills/s/content").body == PACKAGE

    def test_a_version_may_come_as_files(self, project: ProjectClient) -> None:
        make(project)
        field = b'--x\r\nContent-Disposition: form-data; name="default"\r\n\r\ntrue\r\n'
        made = upload(project, ("SKILL.md", SKILL_MD), ("b.md", b"B"), fields=field).body
        assert (made["version"], made["description"]) == ("2", "Writes a status.")
        assert project.get("/skills/s")["default_version"] == "2"
        content = ZipFile(BytesIO(project.ask("GET /skills/s/content").body))
        assert {name: content.read(name) for name in content.namelist()} == {"SKILL.md": SKILL_MD, "b.md": b"B"}

    @pytest.mark.parametrize("data", [b"", b"PK broken", b"no zip", PACKAGE[:40]])
    def test_a_version_may_have_a_package_that_nobody_can_read(self, project: ProjectClient, data: bytes) -> None:
        assert upload(project, ("s.zip", data)).body["description"] == ""
        assert project.mock.world.problems == []

    def test_a_version_can_be_forgotten(self, project: ProjectClient) -> None:
        first, second = make(project), make(project)
        assert project.names("/skills/s/versions", "version") == ["2", "1"]
        deleted = {"object": "skill.version.deleted", "id": first["id"], "name": "s", "deleted": True, "version": "1"}
        assert project.ask("DELETE /skills/s/versions/1").body == deleted
        assert project.get("/skills/s")["default_version"] == second["version"]
        assert make(project)["version"] == "3"


class TestASkill:
    def test_a_skill_is_listed_newest_first_as_recorded(self, project: ProjectClient) -> None:
        empty = {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
        assert project.get("/skills") == empty
        make(project, "a")
        project.mock.skill("b", instructions="Do.", description="Does.")
        listed = project.get("/skills")
        assert [entry["name"] for entry in listed["data"]] == ["b", "a"]
        assert list(listed) == list(empty)
        assert project.get("/skills", after=listed["last_id"]) == empty

    def test_a_skill_that_is_made_again_begins_anew_with_the_same_id(self, project: ProjectClient) -> None:
        id = make(project)["skill_id"]
        deleted = {"object": "skill.deleted", "id": id, "name": "s", "deleted": True}
        assert project.ask("DELETE /skills/s").body == deleted
        again = make(project)
        assert (again["skill_id"], again["version"]) == (id, "1")

    def test_a_missing_skill_is_answered_as_recorded(self, project: ProjectClient) -> None:
        answer = project.ask("DELETE /skills/s")
        assert (answer.status, said(answer)) == (404, "Skill 's' not found.")
        for call in ("GET /skills/s", "GET /skills/s/versions", "GET /skills/s/content", "GET /skills/s:download"):
            assert project.ask(call).rule == "skill_not_found"

    @pytest.mark.parametrize(
        ("body", "param"),
        [
            (None, "/"),
            ({}, "/"),
            ({"inline_content": 5}, "/inline_content"),
            ({"inline_content": {"description": "x"}}, "/inline_content"),
            ({"inline_content": {"description": "x", "instructions": 5}}, "/inline_content/instructions"),
            ({"files": [{"filename": "a", "data": "b"}]}, "/"),
        ],
    )
    def test_a_skill_must_say_what_it_does(self, project: ProjectClient, body: Any, param: str) -> None:
        answer = project.ask("POST /skills/s/versions", body)
        assert (answer.status, answer.rule, answer.body["error"]["param"]) == (400, "resource_incomplete", param)
        assert project.get("/skills")["data"] == []
        assert project.ask("POST /skills/s/versions", b"{").rule == "body_syntax"


@pytest.mark.parametrize("part", [b"", b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\ntext\r\n'])
def test_a_form_must_have_files(project: ProjectClient, part: bytes) -> None:
    assert upload(project, fields=part).rule == "resource_incomplete"


def test_a_skill_was_imported_as_a_zip_until_may_2026() -> None:
    project = ProjectClient(as_of="2026-05-19")
    made = project.ask("POST /skills:import", PACKAGE, {"content-type": "application/zip"})
    id, described = made.body["skill_id"], {"name": "status", "description": "Writes a status."}
    shown = {"object": "skill", "skill_id": id, "has_blob": True, **described}
    assert (made.status, made.body) == (201, shown)
    assert project.get("/skills/status") == {**shown, "metadata": {}}
    package = project.ask("GET /skills/status:download")
    assert (package.body, package.headers["content-type"]) == (PACKAGE, "application/gzip")
    assert project.ask("DELETE /skills/status").body == {"object": "skill.deleted", "name": "status", "deleted": True}
