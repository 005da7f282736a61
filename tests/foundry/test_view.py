"""What a project of Azure AI Foundry answers, member by member, on the days it was recorded."""

import pytest

from harness.api.http.dialects import FOUNDRY, OPENAI
from harness.contract.check import check_answer
from harness.core.exchange import Answer, Json
from harness.ending import incomplete
from harness.items import code_interpreter_call, created_by, function_call, message, web_search_call
from tests.support.foundry import BY_HELPER, HELPER, NEW_DAY, OLD_DAY, PREVIEW, PROJECT, Project, ProjectClient, upload
from tests.support.in_process import send
from tests.support.tools import functions


@pytest.fixture
def project() -> Project:
    return Project()


def events_of(answer: Answer) -> list[Json]:
    assert answer.events is not None
    return list(answer.events)


class TestAResponse:
    def test_a_response_has_its_members_in_the_recorded_order(self) -> None:
        assert list(Project().respond("helper").body) == [
            *("metadata", "top_logprobs", "temperature", "top_p", "service_tier", "prompt_cache_retention", "model"),
            *("reasoning", "background", "text", "tools", "tool_choice", "truncation", "id", "object", "status"),
            *("created_at", "completed_at", "error", "incomplete_details", "output", "instructions", "usage"),
            *("parallel_tool_calls", "agent_reference", "content_filters"),
        ]

    def test_a_response_had_others_before_2026_02_13(self) -> None:
        body = Project(OLD_DAY).respond().body
        assert list(body) == [
            *("metadata", "temperature", "top_p", "user", "service_tier", "top_logprobs", "model", "reasoning"),
            *("background", "text", "tools", "tool_choice", "truncation", "id", "object", "status", "created_at"),
            *("error", "incomplete_details", "output", "instructions", "usage", "parallel_tool_calls", "conversation"),
        ]
        item = body["output"][0]
        assert list(item) == ["type", "id", "status", "role", "content", "created_by"]
        assert item["created_by"] == {"response_id": body["id"]}
        assert "created_by" not in Project("2025-12-16").respond().body["output"][0]
        behind = Project(OLD_DAY).respond("helper").body
        assert behind["agent"] == {"type": "agent_id", "name": "helper", "version": "1"}
        assert "agent_reference" not in behind

    @pytest.mark.parametrize(("day", "filtered"), [("2026-02-26", False), ("2026-05-22", True)])
    def test_a_response_of_a_model_names_no_agent_and_later_what_was_filtered(self, day: str, filtered: bool) -> None:
        body = Project(day).respond().body
        assert ("content_filters" in body, body["agent_reference"]) == (filtered, None)
        assert body["output"][0].keys() == {"type", "id", "response_id", "role", "content", "status"}

    def test_a_response_writes_whole_numbers_without_a_fraction_unless_it_is_streamed(self, project: Project) -> None:
        body = project.respond().body
        assert (repr(body["temperature"]), repr(body["top_p"])) == ("1", "1")
        assert repr(project.respond(temperature=0.5).body["temperature"]) == "0.5"
        assert repr(project.respond(stream=True).body["temperature"]) == "1.0"

    def test_repeats_a_number_that_no_json_integer_holds_as_it_came(self) -> None:
        filters = {"type": "eq", "key": "k", "value": -1e30}
        tool = {"type": "file_search", "vector_store_ids": ["vs_1"], "filters": filters}
        assert repr(Project().respond(tools=[tool]).body["tools"][0]["filters"]["value"]) == "-1e+30"

    @pytest.mark.parametrize(("day", "expected"), [("2026-05-28", {"effort"}), ("2026-06-26", {"effort", "context"})])
    def test_a_response_says_how_much_of_the_reasoning_is_read_since_2026_06_26(
        self, day: str, expected: set[str]
    ) -> None:
        assert Project(day).respond(model="gpt-5.2").body["reasoning"].keys() == expected

    def test_a_response_of_a_preview_client_names_the_agent_twice(self) -> None:
        asked = {"input": "hi", "agent_reference": HELPER}
        body = ProjectClient(root=f"{PROJECT}/openai", api=Project().api).ask("POST /responses", asked, **PREVIEW).body
        by = {"type": "agent_id", "name": "helper", "version": "1"}
        assert (body["agent"], body["agent_reference"]) == (by, BY_HELPER)
        assert list(body)[-3:-1] == ["agent", "agent_reference"]
        item = body["output"][0]
        assert list(item)[:5] == ["type", "id", "created_by", "agent_reference", "response_id"]
        assert item["created_by"] == {"agent": by, "response_id": body["id"]}

    def test_a_response_of_a_preview_client_keeps_a_scripted_creator(self) -> None:
        project = Project()
        mine = {"agent": {"type": "agent_id", "name": "other", "version": "2"}}
        project.mock.script(created_by(mine, message("Mine.")))
        asked = {"input": "hi", "agent_reference": HELPER}
        body = ProjectClient(root=f"{PROJECT}/openai", api=project.api).ask("POST /responses", asked, **PREVIEW).body
        assert body["output"][0]["created_by"] == mine

    def test_a_response_in_the_background_has_neither_usage_nor_an_end_until_it_ends(self, project: Project) -> None:
        queued = project.respond(background=True).body
        assert (queued["status"], queued.keys() & {"usage", "completed_at", "content_filters"}) == ("queued", set())
        cancelled = project.ask(f"POST /responses/{queued['id']}/cancel").body
        assert (cancelled["status"], list(cancelled)) == ("cancelled", list(queued))

    def test_a_response_that_is_deleted_is_called_a_response(self, project: Project) -> None:
        id = project.respond().body["id"]
        assert project.ask(f"DELETE /responses/{id}").body == {"id": id, "object": "response", "deleted": True}

    def test_a_response_counts_no_writes_to_the_cache_and_keeps_it_in_memory(self, project: Project) -> None:
        body = project.respond(model="gpt-5.2").body
        assert body["usage"]["input_tokens_details"].keys() == {"cached_tokens"}
        assert body["prompt_cache_retention"] == "in_memory"
        assert project.respond(prompt_cache_retention="24h").body["prompt_cache_retention"] == "24h"


class TestAListOfResponses:
    """`GET /responses`, which only a project has. Recorded 2026-01-30 and 2026-04-14."""

    def ask(self, project: Project, **query: str) -> Json:
        return project.ask("GET /responses", **query).body

    def ids(self, project: Project, **query: str) -> list[str]:
        return [response["id"] for response in self.ask(project, **query)["data"]]

    def test_a_list_of_responses_has_what_was_stored_newest_first(self, project: Project) -> None:
        made = [project.respond().body["id"], project.respond("helper").body["id"]]
        project.respond(store=False)
        listed = self.ask(project)
        assert ([response["id"] for response in listed["data"]], listed["first_id"]) == (made[::-1], made[1])
        assert list(listed) == ["data", "first_id", "last_id", "has_more", "object"]
        assert self.ids(project, order="asc", limit="1") == made[:1]

    def test_a_list_of_responses_is_narrowed_to_a_conversation_or_an_agent(self, project: Project) -> None:
        conversation = project.conversation()
        by_model, by_agent = project.respond(conversation=conversation), project.respond("helper")
        for query, expected in (
            ({"conversation_id": conversation}, [by_model.body["id"]]),
            ({"agent_name": "helper"}, [by_agent.body["id"]]),
            ({"agent_id": "helper:1"}, [by_agent.body["id"]]),
            ({"agent_id": "helper:2"}, []),
        ):
            assert self.ids(project, **query) == expected

    def test_a_list_of_responses_has_those_of_one_user(self, project: Project) -> None:
        alice = {"x-ms-user-identity": "alice"}
        asked = project.ask("POST /responses", {"model": "gpt-4o", "input": "hi"}, headers=alice)
        listed = project.ask("GET /responses", headers=alice).body["data"]
        assert ([response["id"] for response in listed], self.ids(project)) == ([asked.body["id"]], [])

    def test_a_list_of_responses_names_the_model_and_the_partition_of_each_item(self) -> None:
        project = Project("2026-04-14")
        made = project.respond("helper").body
        [listed] = self.ask(project)["data"]
        assert list(listed) == [
            *("metadata", "top_logprobs", "temperature", "top_p", "service_tier", "model", "background", "tools"),
            *("tool_choice", "truncation", "id", "object", "status", "created_at", "error", "incomplete_details"),
            *("output", "instructions", "usage", "parallel_tool_calls", "agent_reference"),
        ]
        [item] = listed["output"]
        names = ["type", "id", "agent_reference", "response_id", "partition_key", "role", "content", "status"]
        assert (list(item), item["partition_key"]) == (names, made["id"].removeprefix("resp_")[:18])
        assert (made["model"], listed["model"]) == ("gpt-4o", "gpt-4o-2024-08-06")
        assert listed["usage"] == {
            **made["usage"],
            "input_tokens_details": None,
            "output_tokens_details": None,
            "input_token_details": {"cached_tokens": 0},
            "output_token_details": {"reasoning_tokens": 0},
        }

    def test_a_list_of_responses_had_other_members_before_2026_02_13(self) -> None:
        for day, names in (
            (OLD_DAY, ["created_by", "partition_key", "status"]),
            ("2026-02-13", ["response_id", "partition_key", "role"]),
        ):
            project = Project(day)
            project.respond()
            [listed] = self.ask(project)["data"]
            assert list(listed["output"][0])[2:5] == names
            assert (list(listed)[-4:] == ["usage", "parallel_tool_calls", "conversation", "structured_inputs"]) is (
                day == OLD_DAY
            )

    def test_a_list_of_responses_is_no_part_of_openais_api(self) -> None:
        assert send(Project().api, "GET /v1/responses", key="mine").status == 405

    def test_a_list_of_responses_says_how_much_was_reasoned_where_that_was_settled(self) -> None:
        project = Project("2026-04-14")
        project.respond()
        project.ask("POST /responses", {"model": "gpt-5.2", "input": "hi", "reasoning": {"effort": "low"}})
        assert [response.get("reasoning") for response in self.ask(project)["data"]] == [{"effort": "low"}, None]


def test_an_answer_of_a_project_may_lack_members_that_openais_has(project: Project) -> None:
    lacking = {name: value for name, value in project.respond().body.items() if name != "tools"}
    assert [check_answer("Response", lacking, dialect=name) is None for name in (FOUNDRY, OPENAI)] == [True, False]


class TestATool:
    def test_a_tool_is_shown_without_null_members_and_in_the_order_of_its_type(self) -> None:
        function = dict(sorted(functions("f")[0].items()))
        server = {"server_url": "https://a.example", "type": "mcp", "server_label": "a"}
        first, second = Project().respond(tools=[function, server]).body["tools"]
        assert list(first) == ["type", "name", "parameters", "strict"]
        assert list(second) == ["type", "server_label", "server_url", "require_approval"]

    def test_a_tool_that_runs_code_has_a_container_of_its_own(self, project: Project) -> None:
        project.define("coder", tools=[{"type": "code_interpreter"}])
        tools = project.respond("coder").body["tools"]
        assert tools == [{"type": "code_interpreter", "container": {"type": "auto"}}]
        container = {"file_ids": [upload(project)["id"]], "type": "auto"}
        (tool,) = project.respond(tools=[{"container": container, "type": "code_interpreter"}]).body["tools"]
        assert (list(tool), list(tool["container"])) == (["type", "container"], ["type", "file_ids"])


class TestAnItem:
    def test_an_item_begins_with_its_type_and_who_made_it_and_ends_with_its_status(self, project: Project) -> None:
        project.mock.script([function_call("deploy", {})])
        names = list(project.respond("helper").body["output"][0])
        assert names == ["type", "id", "agent_reference", "response_id", "call_id", "name", "arguments", "status"]

    def test_an_item_of_some_kinds_has_its_status_elsewhere(self, project: Project) -> None:
        project.define("coder", tools=[{"type": "code_interpreter"}])
        project.mock.script([code_interpreter_call("1 + 1")])
        item = project.respond("coder").body["output"][0]
        assert list(item)[4:] == ["status", "container_id", "code", "outputs"]
        assert item["outputs"] is None

    @pytest.mark.parametrize(
        ("day", "order"),
        [
            (NEW_DAY, ["type", "id", "role", "content", "status"]),
            (OLD_DAY, ["type", "id", "status", "role", "content"]),
        ],
    )
    def test_an_item_of_a_conversation_has_this_order_too(self, day: str, order: list[str]) -> None:
        project = Project(day)
        id = project.conversation()
        path = f"/conversations/{id}/items"
        added = project.ask(f"POST {path}", {"items": [{"role": "user", "content": "Hi"}]}).body
        assert list(added) == ["object", "data", "has_more", "first_id", "last_id"]
        listed = project.ask(f"GET {path}").body
        assert list(listed) == ["data", "first_id", "last_id", "has_more", "object"]
        item_id = added["data"][0]["id"]
        assert item_id.startswith(f"msg_{id[5:23]}")
        read = project.ask(f"GET {path}/{item_id}").body
        assert [list(item) for item in (added["data"][0], listed["data"][0], read)] == [order] * 3


class TestAConversation:
    def test_a_conversation_has_its_time_last_since_2026_02_13(self) -> None:
        then, now = (list(Project(day).ask("POST /conversations", {}).body) for day in (OLD_DAY, NEW_DAY))
        assert then == ["id", "object", "created_at", "metadata"]
        assert now == ["id", "object", "metadata", "created_at"]

    def test_shares_the_partition_of_its_id_with_its_responses(self, project: Project) -> None:
        id = project.conversation()
        body = project.respond("helper", conversation=id).body
        assert (body["id"][5:21], body["conversation"]) == (id[5:21], {"id": id})
        assert project.respond("planner", conversation=id).body["id"].startswith(f"wfresp_{id[5:21]}00")

    def test_items_of_an_agent_are_listed_with_its_name(self, project: Project) -> None:
        id = project.conversation()
        body = project.respond("helper", conversation=id).body
        said, asked = project.ask(f"GET /conversations/{id}/items").body["data"]
        assert said == body["output"][0]
        assert list(asked) == ["type", "id", "role", "content", "status"]
        assert project.ask(f"GET /conversations/{id}/items/{said['id']}").body == said

    def test_a_conversation_that_is_deleted_names_itself_last(self, project: Project) -> None:
        id = project.conversation()
        assert list(project.ask(f"DELETE /conversations/{id}").body) == ["object", "deleted", "id"]


class TestAStream:
    def test_a_stream_has_the_members_of_the_model_without_what_a_project_does_not_know(self) -> None:
        told = events_of(Project().respond("helper", stream=True))
        first, last = told[0]["response"], told[-1]["response"]
        assert list(first)[-3:] == ["user", "metadata", "agent_reference"]
        assert last.keys().isdisjoint({"tool_usage", "billing", "access_programs", "conversation"})
        assert (first["content_filters"], first["moderation"], last["store"]) == (None, None, True)
        assert "content_filters" in last

    def test_a_stream_names_its_conversation_in_alphabetical_place(self, project: Project) -> None:
        id = project.conversation()
        names = list(project.respond("helper", conversation=id, stream=True).body)
        assert names[names.index("completed_at") :][:4] == ["completed_at", "content_filters", "conversation", "error"]

    def test_a_stream_writes_the_numbers_of_tools_as_everywhere(self, project: Project) -> None:
        store = project.ask("POST /vector_stores", {"name": "s"}).body["id"]
        answer = project.respond(tools=[{"type": "file_search", "vector_store_ids": [store]}], stream=True)
        assert repr(answer.body["tools"][0]["ranking_options"]) == "{'ranker': 'auto', 'score_threshold': 0}"

    def test_a_stream_says_the_choice_of_a_tool_as_the_request_did(self, project: Project) -> None:
        assert project.respond("helper", stream=True).body["tool_choice"] is None
        assert project.respond("helper").body["tool_choice"] == "auto"

    def test_a_stream_tells_of_a_search_before_it_knows_what_is_searched(self, project: Project) -> None:
        project.mock.script([web_search_call("v2")])
        told = events_of(project.respond(tools=[{"type": "web_search_preview"}], stream=True))
        added = next(event["item"] for event in told if event["type"] == "response.output_item.added")
        assert (list(added)[2:], added["action"]) == (["response_id", "status", "action"], {})

    def test_a_stream_ends_the_arguments_of_a_call_without_its_name(self, project: Project) -> None:
        project.mock.script([function_call("f", {})])
        told = events_of(project.respond(tools=functions("f"), stream=True))
        done = next(event for event in told if event["type"] == "response.function_call_arguments.done")
        assert "name" not in done


class TestAWorkflow:
    def test_a_workflow_answers_with_members_of_its_own(self) -> None:
        body = Project().respond("planner").body
        assert list(body) == [
            *("metadata", "service_tier", "model", "background", "tools", "truncation", "id", "object", "status"),
            *("created_at", "completed_at", "error", "incomplete_details", "output", "instructions"),
            *("parallel_tool_calls", "agent_reference", "output_text", "usage"),
        ]
        assert (body["id"][:7], body["model"], body["service_tier"]) == ("wfresp_", "", "auto")
        assert (body["output_text"], body["usage"]["total_tokens"]) == ("", 0)
        assert body["output"][0]["content"] == [{"type": "output_text", "text": "Hello.", "annotations": []}]

    def test_a_workflow_tells_a_text_in_one_piece_and_counts_from_one(self) -> None:
        told = events_of(Project().respond("planner", stream=True))
        assert [event["sequence_number"] for event in told] == list(range(1, len(told) + 1))
        deltas = [event for event in told if event["type"] == "response.output_text.delta"]
        assert [event["delta"] for event in deltas] == ["Hello."]
        members = ["type", "sequence_number", "item_id", "output_index", "content_index", "delta", "logprobs"]
        assert list(deltas[0]) == members
        first = told[0]["response"]
        assert first["completed_at"] == first["created_at"]
        assert first.keys().isdisjoint({"usage", "output_text", "tool_choice"})
        assert "logprobs" not in next(event["part"] for event in told if "part" in event)

    def test_a_workflow_goes_on_where_its_stream_was_left(self, project: Project) -> None:
        told = events_of(project.respond("planner", stream=True, background=True))
        id = told[0]["response"]["id"]
        rest = project.ask(f"GET /responses/{id}", stream="true", starting_after="3")
        assert events_of(rest) == told[3:]

    def test_a_workflow_is_known_by_its_id_afterwards(self, project: Project) -> None:
        body = project.respond("planner").body
        assert project.ask(f"GET /responses/{body['id']}").body == body
        assert project.respond("planner", previous_response_id=body["id"]).body["previous_response_id"] == body["id"]
        assert project.ask(f"DELETE /responses/{body['id']}").body["deleted"] is True
        assert project.ask(f"GET /responses/{body['id']}").status == 404


class TestAHostedAgent:
    def test_a_hosted_agent_answers_with_members_of_its_own(self) -> None:
        body = Project().respond("worker").body
        assert list(body) == [
            *("id", "object", "output", "created_at", "agent_reference", "status", "completed_at", "response_id"),
            *("model", "agent_session_id", "background"),
        ]
        assert body["id"].startswith("caresp_")
        assert (body["response_id"], body["model"]) == (body["id"], "")
        assert len(body["agent_session_id"]) == 50
        item = body["output"][0]
        assert list(item) == ["type", "id", "role", "content", "status", "response_id", "agent_reference"]
        assert item["id"].startswith(f"msg_{body['id'][7:25]}")

    def test_a_hosted_agent_says_why_it_ended(self, project: Project) -> None:
        project.mock.script([message("Half"), incomplete("max_output_tokens")])
        assert project.respond("worker").body["incomplete_details"] == {"reason": "max_output_tokens"}


@pytest.mark.parametrize(("id", "status_elsewhere"), [("wfresp_1", 400), ("caresp_1", 400), ("resp_1", 404)])
def test_an_id_of_a_response_that_is_not_there_is_not_found(project: Project, id: str, status_elsewhere: int) -> None:
    assert project.ask(f"GET /responses/{id}").status == 404
    assert send(project.api, f"GET /v1/responses/{id}", key="mine").status == status_elsewhere
    assert project.respond(previous_response_id=id).status == 400


class TestAFile:
    def test_a_file_has_an_id_of_the_project(self) -> None:
        file = upload(Project())
        assert list(file) == [
            *("object", "id", "purpose", "filename", "bytes", "created_at", "expires_at", "status", "status_details")
        ]
        assert (file["id"][:10], len(file["id"])) == ("assistant-", 32)
        for_model = upload(Project(), "fine-tune", name="planets.jsonl")
        assert list(for_model) == ["status", "bytes", "purpose", "filename", "id", "created_at", "object"]
        assert for_model["id"].startswith("file-")
        assert upload(Project(), root="/v1")["id"].startswith("file-")

    def test_a_file_is_found_by_its_id_wherever_it_is_named(self, project: Project) -> None:
        id = upload(project)["id"]
        assert project.ask(f"GET /files/{id}").body["id"] == id
        reads = [{"role": "user", "content": [{"type": "input_file", "file_id": id}]}]
        assert project.respond(input=reads).status == 200
        code = {"type": "code_interpreter", "container": {"type": "auto", "file_ids": [id]}}
        assert project.respond(tools=[code]).status == 200
        store = project.ask("POST /vector_stores", {"name": "s", "file_ids": [id]}).body
        assert project.respond(tools=[{"type": "file_search", "vector_store_ids": [store["id"]]}]).status == 200
        assert [entry["id"] for entry in project.ask(f"GET /vector_stores/{store['id']}/files").body["data"]] == [id]
        assert project.ask(f"DELETE /files/{id}").body == {"object": "file", "deleted": True, "id": id}
        assert project.ask(f"GET /files/{id}").status == 404

    def test_a_file_that_is_unknown_is_refused(self, project: Project) -> None:
        upload(project)
        assert project.ask("GET /files/assistant-AAAAAAAAAAAAAAAAAAAAAA").status == 404
        assert project.ask("POST /vector_stores", {"file_ids": ["assistant-AAAAAAAAAAAAAAAAAAAAAA"]}).status == 404


class TestAVectorStore:
    def test_a_vector_store_is_answered_as_recorded(self, project: Project) -> None:
        made = project.ask("POST /vector_stores", {"name": "s", "file_ids": [upload(project)["id"]]}).body
        assert list(made) == [
            *("id", "object", "name", "status", "usage_bytes", "created_at", "file_counts", "metadata"),
            *("expires_after", "expires_at", "last_active_at"),
        ]
        assert (made["id"][:3], len(made["id"]), made["status"], made["usage_bytes"]) == ("vs_", 27, "in_progress", 0)
        read = project.ask(f"GET /vector_stores/{made['id']}").body
        assert (list(read), read["status"], read["usage_bytes"]) == (list(made), "completed", 23)
        assert project.ask("GET /vector_stores").body["data"] == [read]

    def test_a_vector_store_shows_a_file_without_attributes(self, project: Project) -> None:
        file, store = upload(project)["id"], project.ask("POST /vector_stores", {"name": "s"}).body["id"]
        made = project.ask(f"POST /vector_stores/{store}/files", {"file_id": file}).body
        assert list(made) == [
            *("id", "object", "usage_bytes", "created_at", "vector_store_id", "status", "last_error"),
            "chunking_strategy",
        ]
        assert (made["status"], made["usage_bytes"]) == ("in_progress", 0)
        (read,) = project.ask(f"GET /vector_stores/{store}/files").body["data"]
        assert (list(read), read["usage_bytes"]) == (list(made), 23)
