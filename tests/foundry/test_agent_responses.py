"""What a request to a Foundry project may say beside an agent, and how its input is judged."""

from typing import Any

import pytest

from harness.core.exchange import Answer, Json
from harness.foundry.project_input import UNKNOWN_CONVERSATION
from tests.support.foundry import HELPER, ProjectClient, names_request, said

V1, PREVIEW = "/openai/v1", "/openai"
ENDPOINT = "/agents/helper/endpoint/protocols/openai"
ASKED: Json = {"agent_reference": HELPER, "input": "hi"}
USER: Json = {"role": "user", "content": "hi"}


def ask(project: ProjectClient, body: Any, root: str = V1, path: str = "/responses") -> Answer:
    return project.ask(f"POST {root}{path}", body, **({"api-version": "2025-11-15-preview"} if root == PREVIEW else {}))


def refusal(answer: Answer) -> tuple[int, str, str | None]:
    message = said(answer) if names_request(answer) else answer.body["error"]["message"]
    return answer.status, message, answer.body["error"].get("param")


class TestAConversation:
    @pytest.mark.parametrize(
        ("body", "root"),
        [
            *[({"agent_reference": HELPER}, V1), ({"agent": HELPER}, PREVIEW), ({}, ENDPOINT)],
            *[({"model": "mine"}, V1), ({"model": "mine", "input": None}, V1)],
        ],
    )
    @pytest.mark.parametrize("stream", [False, True])
    def test_a_conversation_is_enough_to_be_answered(
        self, project: ProjectClient, body: Json, root: str, stream: bool
    ) -> None:
        items = [{"type": "message", "role": "user", "content": "What is the size of France?"}]
        id = ask(project, {"items": items}, path="/conversations").body["id"]
        answer = ask(project, {**body, "conversation": id, "stream": stream}, root)
        assert (answer.status, answer.body["output"][0]["content"][0]["text"]) == (200, "Hello.")
        assert project.names(f"{V1}/conversations/{id}/items", "role") == ["assistant", "user"]

    def test_a_conversation_is_nothing_to_answer_while_it_is_empty(self, project: ProjectClient) -> None:
        id = ask(project, {}, path="/conversations").body["id"]
        assert ask(project, {"agent_reference": HELPER, "conversation": id}).status == 200

    @pytest.mark.parametrize("named", [UNKNOWN_CONVERSATION, {"id": UNKNOWN_CONVERSATION}])
    def test_a_conversation_that_is_named_must_be_there(self, project: ProjectClient, named: Any) -> None:
        body = {"agent_reference": HELPER, "input": "hi", "conversation": named}
        assert ask(project, body).rule == "project_conversation_not_found"

    @pytest.mark.parametrize("missing", [{}, {"conversation": None}, {"conversation": ""}])
    def test_a_conversation_must_be_there_where_nothing_is_asked(self, project: ProjectClient, missing: Json) -> None:
        refused = refusal(ask(project, {"agent_reference": HELPER, **missing}))
        assert refused[:2] == (400, "Missing required parameter: 'input'.")

    @pytest.mark.parametrize(
        ("id", "place"),
        [(7, "conversation"), ([], "conversation"), ({}, "conversation.id"), ({"id": 7}, "conversation.id")],
    )
    def test_a_conversation_of_another_type_is_refused_as_ever(
        self, project: ProjectClient, id: Any, place: str
    ) -> None:
        status, _, param = refusal(ask(project, {**ASKED, "conversation": id}))
        assert (status, param) == (400, place)


class TestBesideAnAgent:
    @pytest.mark.parametrize("root", [V1, ENDPOINT])
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *[("instructions", "Be brief."), ("temperature", 0), ("top_p", 0.5), ("reasoning", {"effort": "low"})],
            *[("text", {"format": {"type": "text"}}), ("tools", [{"type": "web_search"}])],
        ],
    )
    def test_members_that_the_agent_settles_are_refused(
        self, project: ProjectClient, name: str, value: Any, root: str
    ) -> None:
        body = ASKED if root == V1 else {"input": "hi"}
        answer = ask(project, {**body, name: value}, root)
        assert said(answer) == "Not allowed when agent is specified."
        assert answer.body == {
            "error": {
                "code": "invalid_payload",
                "message": answer.body["error"]["message"],
                "param": name,
                "type": "invalid_request_error",
                "details": [],
                "additionalInfo": {"request_id": answer.headers["x-request-id"]},
            }
        }

    def test_several_faults_are_reported_at_once(self, project: ProjectClient) -> None:
        answer = ask(project, {**ASKED, "top_p": 0.5, "temperature": 0.5, "stream": True})
        error = answer.body["error"]
        assert (*refusal(answer), error["code"]) == (400, "Invalid payload", None, "invalid_payload")
        told = {"code": "ValidationError", "message": "Not allowed when agent is specified.", "type": "error"}
        assert error["details"] == [{**told, "param": "temperature"}, {**told, "param": "top_p"}]
        assert error["additionalInfo"] == {"request_id": answer.headers["x-request-id"]}

    @pytest.mark.parametrize(
        "more",
        [
            *[{"temperature": None, "tools": []}, {"max_output_tokens": 300}, {"tool_choice": "required"}],
            *[{"metadata": {"a": "b"}}, {"store": False}, {"parallel_tool_calls": False}, {"background": True}],
            *[{"structured_inputs": {"name": "Ada"}}, {"structured_inputs": 5}, {"agent_session_id": "s"}],
        ],
    )
    def test_other_members_are_accepted(self, project: ProjectClient, more: Json) -> None:
        assert ask(project, {**ASKED, **more}).status == 200

    def test_it_settles_more_from_day_to_day(self, project: ProjectClient) -> None:
        project.world.as_of = "2026-02-20"
        assert ask(project, {**ASKED, "instructions": "Be brief.", "reasoning": {"effort": "low"}}).status == 200
        error = ask(project, {**ASKED, "tools": [{"type": "web_search"}]}).body["error"]
        assert (error["message"], [detail["target"] for detail in error["details"]]) == ("Invalid payload", ["tools"])


class TestAMessage:
    @pytest.mark.parametrize("role", ["system", "developer"])
    @pytest.mark.parametrize("beside", [{"agent_reference": HELPER}, {"model": "mine"}])
    def test_a_message_with_instructions_needs_a_type(self, project: ProjectClient, role: str, beside: Json) -> None:
        item = {"role": role, "content": "Be brief."}
        status, words, param = refusal(ask(project, {**beside, "input": [item, USER]}))
        assert (status, words[:41], param) == (400, "Invalid value: ''. Supported values are: ", "input[1]")
        assert ask(project, {**beside, "input": [{"type": "message", **item}, USER]}).status == 200
        assert ask(project, {"model": "mine", "input": [item, USER]}, PREVIEW).status == 200

    def test_a_message_may_be_added_to_a_conversation_without_one(self, project: ProjectClient) -> None:
        assert ask(project, {"items": [{"role": "system", "content": "x"}]}, path="/conversations").status == 200

    def test_a_message_of_an_assistant_was_to_be_whole_before_agents_were_final(self, project: ProjectClient) -> None:
        text = {"type": "output_text", "text": "Hello."}
        items = [USER, {"role": "assistant", "content": [text, text]}]
        details = ask(project, {**ASKED, "input": items}, PREVIEW).body["error"]["details"]
        assert [(detail["param"], detail["message"].partition(":")[0]) for detail in details] == [
            ("/input", "type"),
            ("/input/1", "required"),
            ("/input/1/content", "type"),
            ("/input/1/content/0", "required"),
            ("/input/1/content/1", "required"),
        ]
        whole = {"type": "message", "role": "assistant", "content": [{**text, "annotations": []}]}
        assert ask(project, {**ASKED, "input": [USER, whole]}, PREVIEW).status == 200

    @pytest.mark.parametrize(
        ("item", "rule"),
        [
            *((odd, "invalid_type") for odd in (7, None, [])),
            *((odd, "input_item_role") for odd in ({}, {"role": 7})),
            ({"role": "user", "content": [7]}, "invalid_type"),
        ],
    )
    @pytest.mark.parametrize("root", [V1, PREVIEW, ENDPOINT])
    def test_a_message_that_is_none_is_refused(self, project: ProjectClient, item: Any, rule: str, root: str) -> None:
        assert ask(project, {**ASKED, "input": [item]}, root).rule == rule

    @pytest.mark.parametrize(
        ("root", "rule"), [(V1, "invalid_type"), (PREVIEW, "answer_incomplete"), (ENDPOINT, "invalid_type")]
    )
    def test_a_message_of_an_assistant_has_parts_that_are_objects(
        self, project: ProjectClient, root: str, rule: str
    ) -> None:
        item = {"role": "assistant", "content": [7]}
        assert ask(project, {**ASKED, "input": [item]}, root).rule == rule


class TestAnItemOfATool:
    def search(self, agent: Any) -> Json:
        action = {"type": "search", "query": "x"}
        made = {"type": "web_search_call", "id": f"ws_{'0' * 50}", "status": "completed", "action": action}
        return {**made, "agent_reference": agent}

    @pytest.mark.parametrize("agent", [None, 7, {}, {"name": None}])
    def test_an_item_of_a_tool_of_nobody_is_anyones(self, project: ProjectClient, agent: Any) -> None:
        assert ask(project, {**ASKED, "input": [USER, self.search(agent)]}).status == 200


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("POST", "/openai/v1/responses", "write` to perform `POST /api/projects/{projectName}/openai/*`"),
        ("GET", "/openai/v1/responses/resp_1", "read` to perform `GET /api/projects/{projectName}/openai/*`"),
        ("GET", "/agents/helper", "read` to perform `GET /api/projects/{projectName}/agents/*`"),
        ("GET", "/threads/thread_1", "read` to perform `GET /api/projects/{projectName}/threads/{threadId}`"),
    ],
)
def test_a_principal_needs_a_role_in_the_project(project: ProjectClient, method: str, path: str, named: str) -> None:
    project.mock.organization(scopes=())
    answer = project.ask(f"{method} {path}", ASKED if method == "POST" else None)
    error = answer.body["error"]
    assert (answer.status, list(error), error["code"]) == (401, ["code", "message"], "PermissionDenied")
    assert f"Microsoft.CognitiveServices/accounts/AIServices/agents/{named} operation" in error["message"]


BARE_ANSWER: Json = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}


class TestAnAnswerInTheHistory:
    @pytest.mark.parametrize("body", [{"agent_reference": HELPER}, {"model": "mine"}])
    def test_an_answer_in_the_history_needs_annotations(self, project: ProjectClient, body: Json) -> None:
        refused = refusal(ask(project, {**body, "input": [USER, BARE_ANSWER, USER]}))
        assert refused == (400, "Invalid payload: Required property 'annotations' is missing", None)
