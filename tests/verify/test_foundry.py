"""`verify` on recordings of Foundry projects: who answered, and what is judged there."""

from pathlib import Path
from typing import Any

import pytest

from harness.cassettes.format.recorded import Recorded
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.contract.rule import RULES
from harness.foundry.agent_versions import AGENTS
from harness.verify.compare import differing_error_members
from harness.verify.judging.circumstances import rebuild_request
from harness.verify.read_files import read_recording
from harness.world.world import World, WorldOptions
from tests.support.recordings import error, judged
from tests.support.slow import slow_except_every
from tests.verify.foundry import (
    AT,
    HOST,
    PROJECT,
    REFERENCE,
    RESPONSES,
    VERSIONS,
    call,
    entry,
    made,
    proxy_file,
    version,
)

GONE = {"object": "agent.deleted", "name": "helper", "deleted": True}
OTHER_MODEL = "Model must match the agent's model 'gpt-4o' when agent is specified."
BARE: dict[str, Any] = {
    "object": "response",
    "id": "wfresp_662dd709d07d95ea00UIxFMPr55o6qkSX0",
    "created_at": AT,
    "status": "completed",
    "model": "",
    "output": [],
}
"""A response without what OpenAI always shows."""


def verdicts(tmp_path: Path, *entries: dict[str, Any]) -> dict[str, Any]:
    return judged(tmp_path, proxy_file(tmp_path, *entries))[1]


@pytest.mark.parametrize("headers", [{"openai-version": "2020-10-01"}, {}])
@pytest.mark.parametrize("host", [HOST, "https://REDACTED", "https://Sanitized.services.ai.azure.com"])
def test_the_path_of_a_project_tells_foundry_whatever_masks_the_host(tmp_path, host, headers):
    asked = {"agent_reference": REFERENCE, "input": "hi"}
    path = f"{host}/api/projects/REDACTED/openai/v1/responses"
    report = verdicts(tmp_path, entry("POST", path, asked, error(OTHER_MODEL), 400, headers))
    assert report["skipped"] == 0
    assert report["requests"]["judged"] + report["refusals"]["judged"] == 1
    assert "model" not in str(report["refusals"]["different"])


def test_an_operation_that_the_mock_has_not_is_named(tmp_path: Path) -> None:
    report = verdicts(tmp_path, call("POST /agents/helper:teleport", {}, {}))
    assert report["skipped_why"] == {"not judged: /agents": 1}


def test_a_version_that_the_mock_would_refuse_is_a_finding(tmp_path: Path) -> None:
    report = verdicts(tmp_path, entry("POST", VERSIONS, {"description": "none"}, version()))
    assert [entry["rule"] for entry in report["requests"]["refused"]] == ["agent_version_incomplete"]


@pytest.mark.parametrize("again", [1, 7])
def test_an_agent_is_known_from_its_creation_until_it_is_deleted(tmp_path: Path, again: int) -> None:
    """Whatever version the service has come to: a definition that did not change gives the version that is there."""
    number = f"/agents/helper/versions/{again}"
    shown = {"object": "agent", "name": "helper", "versions": {"latest": version(again)}}
    report = verdicts(
        tmp_path,
        made(again),
        made(again),
        call("GET /agents/helper", None, shown),
        call(f"GET {number}", None, version(again)),
        call(f"DELETE {number}", None, {**GONE, "object": "agent.version.deleted", "version": str(again)}),
        made(again),
        call("DELETE /agents/helper", None, GONE),
    )
    assert (report["requests"]["accepted"], report["requests"]["unverifiable"], report["skipped"]) == (7, 0, 0)


def test_a_request_is_judged_by_the_definition_of_its_agent(tmp_path: Path) -> None:
    body = {"agent_reference": REFERENCE, "input": "hi", "model": "o3"}
    refused = error(OTHER_MODEL, param="model", code="invalid_payload")
    assert verdicts(tmp_path, made(), entry("POST", RESPONSES, body, refused, 400))["refusals"]["same"] == 1


def test_an_id_of_a_workflow_or_a_hosted_agent_is_not_made_up(tmp_path: Path) -> None:
    wrong = {"object": "response", "output": 3, "created_at": AT}
    named = [
        entry("POST", RESPONSES, {"agent_reference": REFERENCE, "input": "hi"}, {**wrong, "id": id})
        for id in ("wfresp_662dd709d07d95ea00UIxFMPr55o6qkSX0", "caresp_662dd709d07d95ea00UIxFMPr55o6qkSX0", "resq_1")
    ]
    report = verdicts(tmp_path, *named)
    assert len(report["answers"]["findings"]) == 2
    assert report["answers"]["unverifiable"] == 1


def respelled(tmp_path: Path, *entries: dict[str, Any]) -> dict[str, Any]:
    """Return the differences between the recorded answers and the mock's own, by their place."""
    report = judged(tmp_path, proxy_file(tmp_path, *entries), respelled=True)[1]
    assert report["unreadable"] == []
    return {entry["at"]: (entry["recorded"], entry["mock"]) for entry in report["respelled"]["different"]}


class TestAnswersOfAProject:
    """No schema describes them, so `--respell` compares them with the mock's."""

    def test_what_a_project_had_come_to_before_is_not_compared(self, tmp_path: Path) -> None:
        deleted = {"object": "agent.version.deleted", "name": "helper", "version": "41", "deleted": True}
        page = {"object": "list", "first_id": "b", "last_id": "a", "has_more": False}
        assert not respelled(
            tmp_path,
            made(41),
            call("GET /agents/helper/versions", None, {**page, "data": [version(41), version(40)]}),
            call("DELETE /agents/helper/versions/41", None, deleted),
        )

    @pytest.mark.parametrize(
        ("changes", "at"),
        [
            ({"metadata": {"mine": "x"}}, []),
            ({"colour": "blue"}, ["colour"]),
            ({"created_at": "today"}, ["created_at"]),
            ({"object": "agent"}, ["object"]),
            (
                {"definition": {"kind": "prompt", "model": "gpt-4o", "tools": [{"type": "web_search", "colour": "x"}]}},
                ["definition.tools[0].colour"],
            ),
        ],
        ids=["what the user has named", "another member", "another kind of value", "another object", "in a list"],
    )
    def test_differs_by_what_it_is_and_not_by_what_it_is_called(self, tmp_path, changes, at):
        one = made(tools=[{"type": "web_search"}])
        assert list(respelled(tmp_path, {**one, "ResponseBody": {**one["ResponseBody"], **changes}})) == at

    def test_another_status_is_a_difference(self, tmp_path: Path) -> None:
        assert respelled(tmp_path, {**made(), "StatusCode": 201}) == {"status": ("201", "200")}

    @pytest.mark.parametrize("body", [None, "a stream of bytes", [], 5])
    def test_another_form_of_body_is_reported_and_does_not_crash(self, tmp_path: Path, body: Any) -> None:
        found = respelled(tmp_path, {**made(), "ResponseBody": body})
        assert set(found) <= {"answer"}


class TestAnswersThatLeaveMembersOut:
    """Recorded: Foundry shows responses without what OpenAI always shows."""

    @pytest.mark.parametrize(("host", "count"), [(PROJECT, 0), (HOST, 1)])
    def test_answers_that_leave_members_out_are_findings_elsewhere_only(self, tmp_path, host, count):
        one = entry("POST", f"{host}/openai/v1/responses", {"model": "m", "input": "hi"}, BARE)
        assert len(verdicts(tmp_path, one)["answers"]["findings"]) == count

    def test_an_object_with_a_wrong_value_is_one_there_too(self, tmp_path: Path) -> None:
        one = entry("POST", RESPONSES, {"model": "m", "input": "hi"}, {**BARE, "tools": "none"})
        assert [finding["at"] for finding in verdicts(tmp_path, one)["answers"]["findings"]] == ["tools"]


def test_an_agent_that_was_there_before_is_presumed(tmp_path: Path) -> None:
    """Whatever else the recording has made."""
    answer = {**BARE, "id": "resp_1"}
    other = {"agent_reference": {**REFERENCE, "name": "older", "version": "4"}, "input": "hi"}
    report = verdicts(
        tmp_path, made(), entry("POST", RESPONSES, other, answer), call("GET /agents/oldest", None, {"object": "agent"})
    )
    assert report["requests"]["accepted"] == 3


class TestBodiesOfTheTestProxy:
    """JSON as it is, text in lines, bytes in base64, in the lines of a form with a prefix; of each client the same."""

    def read(self, tmp_path: Path, **members: Any) -> Recorded:
        (one,) = read_recording(proxy_file(tmp_path, {**entry("POST", RESPONSES, {}, {}), **members}))
        return one

    def test_a_form(self, tmp_path: Path) -> None:
        """As .NET writes one: names without quotes."""
        lines = [
            *("--x\r\n", "Content-Disposition: form-data; name=file; filename=a.bin\r\n", "\r\n", "b64:/wD/", "\r\n"),
            *("--x\r\n", "Content-Disposition: form-data; name=purpose\r\n", "\r\n", "assistants", "\r\n", "--x--\r\n"),
        ]
        sent = {"Content-Type": 'multipart/form-data; boundary="x"'}
        one = self.read(tmp_path, RequestUri=f"{PROJECT}/openai/files", RequestHeaders=sent, RequestBody=lines)
        operation, request = rebuild_request(one)
        assert operation is not None
        assert operation.id == "POST /files"
        assert request.body["purpose"] == "assistants"
        assert request.body["file"]["data"] == "\xff\0\xff"

    @pytest.mark.parametrize(
        ("kind", "body", "raw"),
        [
            *((kind, "UEsDBP8=", b"PK\3\4\xff") for kind in ("application/zip", "image/png")),
            ("application/octet-stream", "UEsDBP8=", b"PK\3\4\xff"),
            ("text/plain", "UEsDBP8=", b"UEsDBP8="),
            ("application/zip", "Sanitized", b"Sanitized"),
            ("application/xml", "<a/>", b"<a/>"),
        ],
    )
    def test_bytes_and_texts(self, tmp_path: Path, kind: str, body: str, raw: bytes) -> None:
        assert self.read(tmp_path, RequestHeaders={"Content-Type": kind}, RequestBody=body).raw == raw

    def test_a_stream(self, tmp_path: Path) -> None:
        lines = ["event: error\n", 'data: {"type":"error",', '"code":"\\u002b"}\n\n']
        one = self.read(tmp_path, ResponseHeaders={"Content-Type": ["text/event-stream"]}, ResponseBody=lines)
        assert one.events == [{"type": "error", "code": "+"}]

    @pytest.mark.parametrize("body", slow_except_every(3, [None, "", [], [5], [None, "b64:x"], 5, True]))
    @pytest.mark.parametrize("kind", [None, 5, "multipart/form-data; boundary=x", "application/zip", "text/plain"])
    def test_anything_else_is_no_crash(self, tmp_path: Path, kind: Any, body: Any) -> None:
        headers = {"Content-Type": kind}
        one = entry("POST", RESPONSES, body, body)
        file = proxy_file(tmp_path, {**one, "RequestHeaders": headers, "ResponseHeaders": headers})
        assert judged(tmp_path, file, respelled=True)[1]["exchanges"] == 1


def test_the_id_of_a_request_in_words_is_not_compared(tmp_path: Path) -> None:
    said = error(f"Tool not found [Request ID: {'0f' * 16}]")["error"]
    assert differing_error_members(said, {**said, "message": "Tool not found"}) == []
    assert differing_error_members(said, {**said, "message": "Tool not found."}) == ["message"]


class TestErrorsOfAProject:
    """In the words of the mock; `--respell` compares the form around them, too."""

    def differences(self, tmp_path: Path, **members: Any) -> dict[str, Any]:
        """Return those of a 404 whose error has these members beside its words."""
        unknown = {"agent_reference": {**REFERENCE, "name": "none"}, "input": "hi"}
        world = World(options=WorldOptions(as_of="2026-04-16"))
        world.store.table(AGENTS)["helper"] = [version()]
        (one,) = read_recording(proxy_file(tmp_path, entry("POST", RESPONSES, unknown, {}, 404)))
        violation = check(WorldCall(rebuild_request(one)[1], world)).violation
        assert violation is not None
        answer = {"error": {**violation.error.body()["error"], **members}}
        return respelled(tmp_path, made(), entry("POST", RESPONSES, unknown, answer, violation.error.status))

    @pytest.mark.parametrize(
        ("members", "at"),
        [({}, []), ({"hint": "Create it first."}, ["error.hint"]), ({"details": "none"}, ["error.details"])],
        ids=["none but the id of the request", "another member", "another kind of value"],
    )
    def test_differ_by(self, tmp_path: Path, members: dict[str, Any], at: list[str]) -> None:
        assert list(self.differences(tmp_path, **members)) == at

    def test_form_of_an_asset(self, tmp_path: Path) -> None:
        """Recorded of datasets: the form of Azure ML conforms."""
        answer = {
            "error": {"code": "UserError", "message": "Could not find it", "severity": None, "additionalInfo": None},
            "correlation": {"operation": "1", "request": "2"},
            "time": "2026-04-16T10:00:00+00:00",
            "statusCode": 404,
        }
        report = verdicts(tmp_path, call("GET /agents/helper", None, answer, 404))
        assert report["answers"]["findings"] == report["answers"]["drift"] == []


class TestWhatAProjectHadBefore:
    """Since the API accepted requests that name it."""

    @pytest.mark.parametrize(
        "line",
        [
            *("GET /connections/mine", "POST /connections/mine/getConnectionWithCredentials"),
            "GET /deployments/gpt-4o",
            *("GET /indexes/mine/versions/7", "GET /datasets/mine/versions/2.1", "GET /memory_stores/mine"),
            *("GET /toolboxes/mine", "GET /toolboxes/mine/versions/9", "PATCH /toolboxes/mine", "GET /skills/mine"),
            *("GET /agents/helper/endpoint/sessions/5", "DELETE /agents/helper/versions/31"),
        ],
    )
    def test_what_a_project_had_before_is_presumed(self, tmp_path: Path, line: str) -> None:
        body = {"default_version": "9"} if line.startswith("PATCH") else None
        assert verdicts(tmp_path, call(line, body, {}))["requests"]["accepted"] == 1

    def test_an_agent_is_as_its_responses_or_its_newest_version_show_it(self, tmp_path: Path) -> None:
        answer = {**BARE, "id": "resp_1", "agent_reference": {**REFERENCE, "version": "3"}, "model": "gpt-4o"}
        answered = entry("POST", RESPONSES, {"agent_reference": REFERENCE, "input": "hi"}, answer)
        versions = [{**version(2), "created_at": AT + 1}, version(1, model="o3")]
        listed = call("GET /agents/helper/versions", None, {"data": versions})
        asked = {"agent_reference": REFERENCE, "input": "hi", "model": "o3"}
        refused = entry("POST", RESPONSES, asked, error(OTHER_MODEL, param="model", code="invalid_payload"), 400)
        for shown in (answered, listed):
            assert verdicts(tmp_path, shown, refused)["refusals"]["same"] == 1

    def test_may_be_deleted_by_another_client_meanwhile(self, tmp_path: Path) -> None:
        gone = error("Agent not found", type="error", code="not_found")
        report = verdicts(tmp_path, made(), call("DELETE /agents/helper", None, gone, 404))
        assert report["refusals"]["unverifiable_why"] == {"another client of the project may have deleted it": 1}


class TestWhatARecordingMakes:
    """The mock plays it; ids that the service chose are those of the recording."""

    def test_a_session(self, tmp_path: Path) -> None:
        session = {
            "agent_session_id": "of-the-service",
            "version_indicator": {"type": "version_ref", "agent_version": "1"},
            "status": "active",
            **dict.fromkeys(("created_at", "last_accessed_at", "expires_at"), AT),
        }
        lines = ["event: log\n", 'data: {"timestamp":"now","stream":"status","message":"Up."}\n\n']
        log = call("GET /agents/helper/versions/1/sessions/of-the-service:logstream", None, lines)
        entries = [
            made(),
            call("POST /agents/helper/endpoint/sessions", {}, session, 201),
            call("GET /agents/helper/endpoint/sessions/of-the-service", None, session),
            {**log, "ResponseHeaders": {**log["ResponseHeaders"], "Content-Type": "text/event-stream"}},
        ]
        report = verdicts(tmp_path, *entries)
        assert (report["requests"]["accepted"], report["streams"]["findings"]) == (4, [])
        assert not respelled(tmp_path, *entries)
        lines[1] = lines[1].replace("stream", "channel")
        assert list(respelled(tmp_path, *entries)) == ["events"]

    def test_a_file_is_refused_by_its_name(self, tmp_path: Path) -> None:
        """Known from the upload, or presumed from the refusal."""
        searchable = next(iter(RULES["file_not_searchable"].rejects))
        refused = error(str(searchable), param="file_id", code="unsupported_file")
        file = {"object": "file", "id": "assistant-1", "filename": "a.csv", "purpose": "assistants"}
        form = ["--x\r\n", 'Content-Disposition: form-data; name="purpose"\r\n\r\n', "assistants\r\n", "--x--\r\n"]
        upload = entry("POST", f"{PROJECT}/openai/v1/files", form, file)
        upload["RequestHeaders"]["Content-Type"] = "multipart/form-data; boundary=x"
        stores = f"{PROJECT}/openai/v1/vector_stores"
        attach = entry("POST", f"{stores}/vs_1/files", {"file_id": "assistant-1"}, refused, 400)
        make = entry("POST", stores, {}, {"object": "vector_store", "id": "vs_1"})
        for before in ([upload, make], [make]):
            assert verdicts(tmp_path, *before, attach)["refusals"]["same"] == 1

    def test_a_conversation_of_a_user(self, tmp_path: Path) -> None:
        """Whom it was made for tells the header, which a recorder keeps or masks."""
        conversation = {"id": "conv_1", "object": "conversation", "created_at": AT, "metadata": {}}
        make = entry("POST", f"{PROJECT}/openai/v1/conversations", {}, conversation)
        read = entry("GET", f"{PROJECT}/openai/v1/conversations/conv_1", None, conversation)
        for exchange in (make, read):
            exchange["RequestHeaders"]["x-ms-user-identity"] = "alice"
            exchange["ResponseHeaders"]["Date"] = "Mon, 21 Sep 2026 10:00:00 GMT"
        assert verdicts(tmp_path, make, read)["requests"]["accepted"] == 2
        del read["RequestHeaders"]["x-ms-user-identity"]
        assert verdicts(tmp_path, make, read)["requests"]["unverifiable"] == 1


@pytest.mark.parametrize(
    ("line", "body", "answer"),
    [
        ("GET /agents", None, {"data": [5], "object": "list"}),
        ("GET /agents/helper/versions", None, {"data": [version(2) | {"id": []}, 5, version(3) | {"version": 3}]}),
        ("POST /agents/helper/versions", {"definition": {"kind": "prompt"}}, version(structured_inputs=5)),
        ("POST /memory_stores", {"name": "m", "definition": {"kind": "default"}}, {"name": "m", "definition": {}}),
        ("POST /memory_stores/m", [5], {}),
        ("PATCH /toolboxes/mine", {"default_version": 5}, {"default_version": []}),
    ],
)
def test_odd_exchanges_are_no_crash(tmp_path: Path, line: str, body: Any, answer: Any) -> None:
    follow = entry("POST", RESPONSES, {"agent_reference": REFERENCE, "input": "hi"}, {**BARE, "id": "resp_1"})
    lists = [call(f"GET {path}", None, {"data": [{}]}) for path in ("/agents", "/memory_stores")]
    entries = [made(), call(line, body, answer), follow, *lists]
    assert judged(tmp_path, proxy_file(tmp_path, *entries), respelled=True)[1]["unreadable"] == []
