"""What a project said on earlier days than today's, as its .NET client recorded it."""

from typing import Any

import pytest

from tests.support.foundry import HELPER, PREVIEW, ProjectClient

TOOLS = [{"type": "web_search"}]


def members_of(error: Any) -> list[str]:
    return list(error["error"])


@pytest.mark.parametrize(("day", "has_state"), [("2026-06-06", False), ("2026-07-01", True)])
def test_an_agent_had_no_state_at_first(day: str, has_state: bool) -> None:
    project = ProjectClient(as_of=day)
    project.define("helper")
    shown = project.get("/agents/helper")
    assert ("state" in shown, "protocol_configuration" in shown["agent_endpoint"]) == (has_state, has_state)


@pytest.mark.parametrize(
    ("day", "has_identity", "has_guid"),
    [("2026-04-16", False, False), ("2026-04-17", True, False), ("2026-05-05", True, True)],
)
def test_an_agent_had_no_identity_at_first(day: str, has_identity: bool, has_guid: bool) -> None:
    project = ProjectClient(as_of=day)
    first, second = (project.define("helper", instructions=text) for text in ("One.", "Two."))
    assert ("instance_identity" in first, "agent_guid" in first) == (has_identity, has_guid)
    assert first.get("blueprint") == second.get("blueprint")
    assert first.get("agent_guid") == second.get("agent_guid")


@pytest.mark.parametrize(
    ("day", "names_request", "has_skills"), [("2026-04-15", False, False), ("2026-05-29", True, True)]
)
def test_a_toolbox(day: str, names_request: bool, has_skills: bool) -> None:
    """First its versions had no skills, and the words for one that is missing did not name the request."""
    project = ProjectClient(as_of=day)
    missing = project.ask("DELETE /toolboxes/other").body["error"]["message"]
    assert missing.startswith("Toolbox 'other' not found")
    assert ("[Request ID: " in missing) == names_request
    assert ("skills" in project.ask("POST /toolboxes/mine/versions", {"tools": TOOLS}).body) == has_skills


@pytest.mark.parametrize(("day", "place"), [("2026-05-28", 0), ("2026-05-29", -1)])
def test_a_toolbox_began_with_its_type_at_first(day: str, place: int) -> None:
    project = ProjectClient(as_of=day)
    _, *made = project.ask("POST /toolboxes/mine/versions", {"tools": TOOLS}).body
    assert made[place] == [*project.get("/toolboxes/mine")][place] == "object"


class TestASkillBeforeItHadVersions:
    def test_a_skill_before_it_had_versions_was_made_of_its_texts(self) -> None:
        project = ProjectClient(as_of="2026-04-16")
        empty = {"data": [], "first_id": "", "last_id": "", "has_more": False, "object": "list"}
        assert list(project.get("/skills").items()) == list(empty.items())
        made = project.ask("POST /skills", {"name": "sum", "description": "Adds.", "instructions": "Add."})
        id = made.body["skill_id"]
        skill = {"object": "skill", "skill_id": id, "has_blob": False, "name": "sum", "description": "Adds."}
        assert made.status == 201
        assert list(made.body.items()) == [*skill.items(), ("metadata", {})]
        listed = project.get("/skills", limit="3", order="asc")
        assert listed == {**empty, "data": [made.body], "first_id": id, "last_id": id}

    @pytest.fixture
    def project(self) -> ProjectClient:
        project = ProjectClient(as_of="2026-04-17")
        project.ask("POST /skills/s/versions", {"inline_content": {"description": "One.", "instructions": "Do."}})
        return project

    def test_a_skill_before_it_had_versions_was_changed_by_what_it_says(self, project: ProjectClient) -> None:
        changed = project.ask("POST /skills/s", {"description": "Two.", "instructions": "Do it."})
        assert (changed.status, changed.body["description"]) == (200, "Two.")
        assert project.get("/skills/s")["description"] == "Two."

    @pytest.mark.parametrize(
        ("body", "status"),
        [({}, 200), ({"description": 5}, 200), ({"default_version": 5}, 200), (b"{", 400), ([], 400)],
    )
    def test_bad_input_is_no_crash(self, project: ProjectClient, body: Any, status: int) -> None:
        assert project.ask("POST /skills/s", body).status == status


@pytest.mark.parametrize(
    ("day", "message", "members"),
    [
        ("2025-10-29", "Invalid payload", ["code", "message", "details", "additional_info"]),
        ("2026-04-06", "Not allowed when agent is specified.", ["code", "message", "param", "type", "details"]),
    ],
)
def test_tools_beside_an_agent(day: str, message: str, members: list[str]) -> None:
    """First only the details said what is wrong."""
    project = ProjectClient(as_of=day)
    project.define("helper")
    body = {"agent_reference": HELPER, "input": "hi", "tools": TOOLS}
    answer = project.ask("POST /openai/responses", body, **PREVIEW)
    assert (answer.status, answer.body["error"]["message"]) == (400, message)
    assert members_of(answer.body)[: len(members)] == members
    (holder,) = (answer.body["error"][name] for name in answer.body["error"] if name.lower().startswith("additional"))
    assert holder == {"request_id": answer.headers["x-request-id"]}


def test_a_workflow_showed_the_input_of_a_model() -> None:
    project = ProjectClient(as_of="2025-11-03")
    project.ask("POST /agents/flow/versions", {"definition": {"kind": "workflow", "workflow": "kind: workflow"}})
    body = {"agent_reference": {**HELPER, "name": "flow"}, "input": "hi"}
    shown = project.ask("POST /openai/responses", body, **PREVIEW).body
    assert shown["temperature"] is shown["top_p"] is shown["user"] is None
    assert (shown["tool_choice"], shown["structured_inputs"]) == ("auto", {})
    assert not {"completed_at", "background"} & shown.keys()
