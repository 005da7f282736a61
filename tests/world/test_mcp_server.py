"""A scripted MCP server: its tools, what a request allows and wants to be asked about, and what a call returns."""

from typing import Any

import pytest

from harness.core.errors import ConfigError, ScriptError
from harness.core.exchange import Answer, Json
from harness.ending import failed, incomplete
from harness.faults import make_delay
from harness.items import function_call, mcp_approval_request, mcp_call, mcp_list_tools, message, reasoning
from harness.world.mcp_server import McpServer, ToolError, build_server, needs_approval
from harness.world.scripting.document import parse_sent_script
from tests.support.cpu_time import cpu_time
from tests.support.in_process import Client, error, user
from tests.support.tools import functions, mcp_tool
from tests.support.websockets import Socket

READ_ONLY = {"annotations": {"read_only": True}, "result": "up"}


@pytest.fixture
def prod() -> McpServer:
    return build_server("prod", {"deploy": lambda ref: f"{ref} is live", "status": READ_ONLY})


def test_its_tools_are_shown_as_the_list_of_the_wire():
    schema = {"type": "object", "properties": {"ref": {"type": "string"}}, "required": ["ref"]}
    writes = {"annotations": {"read_only": False}}
    described = {**writes, "description": "Puts a version live.", "input_schema": schema, "result": "ok"}
    assert build_server("prod", {"deploy": described, "status": "up"}).tools == [
        {**writes, "description": "Puts a version live.", "input_schema": schema, "name": "deploy"},
        {**writes, "description": "", "input_schema": {"type": "object"}, "name": "status"},
    ]


def test_a_server_of_many_tools_is_declared_in_linear_time():
    with cpu_time() as spent:
        parse_sent_script({"mcp": {"prod": {f"tool {number}": "up" for number in range(3_000)}}})
    assert spent.seconds < 2


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        (None, ["deploy", "status"]),
        (["status"], ["status"]),
        ([], []),
        ({}, ["deploy", "status"]),
        ({"tool_names": None, "read_only": None}, ["deploy", "status"]),
        ({"tool_names": ["deploy", "else"]}, ["deploy"]),
        ({"read_only": True}, ["status"]),
        ({"read_only": False}, ["deploy"]),
        ({"tool_names": ["deploy"], "read_only": True}, []),
    ],
)
def test_a_request_allows_some_of_them(prod, allowed, left):
    assert [tool["name"] for tool in prod.allowed_tools({"allowed_tools": allowed})] == left


@pytest.mark.parametrize(
    ("require_approval", "asked_for"),
    [
        ("nothing", ["deploy", "status"]),
        (None, ["deploy", "status"]),
        ("always", ["deploy", "status"]),
        ("never", []),
        ({"never": {"tool_names": ["status"]}}, ["deploy"]),
        ({"never": {"read_only": True}}, ["deploy"]),
        ({"never": {}}, ["deploy", "status"]),
        ({"always": {"tool_names": ["deploy"]}}, ["deploy", "status"]),
        ({"always": {"tool_names": ["deploy"]}, "never": {"tool_names": ["status"]}}, ["deploy"]),
        ({"always": {"tool_names": ["status"]}, "never": {"tool_names": ["deploy", "status"]}}, ["status"]),
        ({"always": None, "never": None}, ["deploy", "status"]),
    ],
)
def test_a_call_needs_leave_unless_never_names_it(prod, require_approval, asked_for):
    offer = {} if require_approval == "nothing" else {"require_approval": require_approval}
    assert [tool["name"] for tool in prod.tools if needs_approval(tool, offer)] == asked_for


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ("18 °C", "18 °C"),
        ("", ""),
        ({"c": 18}, '{"c":18}'),
        ([1, 2], "[1,2]"),
        (None, ""),
        (lambda city: f"{city}: 18", "Oslo: 18"),
        (lambda **given: given, '{"city":"Oslo"}'),
        ({"result": {"description": "mild"}}, '{"description":"mild"}'),
    ],
)
def test_a_call_returns_the_result_as_text(result, output):
    members = build_server("weather", {"now": result}).call("now", '{"city":"Oslo"}').members
    assert (members["output"], members["error"], members["approval_request_id"]) == (output, None, None)


def test_an_approved_call_names_the_request(prod):
    members = prod.call("deploy", '{"ref":"v2"}', "mcpr_1").members
    assert (members["output"], members["approval_request_id"]) == ("v2 is live", "mcpr_1")


DOWN = {"type": "http_error", "code": 503, "message": "down"}
LOCKED = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "locked"}]}

DEPLOYING = r"mcp_call\('prod', 'deploy'\)"


def raising(error: Exception) -> Any:
    def tool(**given: Any) -> Any:
        raise error

    return tool


@pytest.mark.parametrize(
    ("result", "error"),
    [(ToolError("locked"), LOCKED), (raising(ToolError("locked")), LOCKED), (ToolError(DOWN), DOWN)],
)
def test_a_tool_fails_by_a_tool_error(result, error):
    members = build_server("prod", {"deploy": result}).call("deploy", "{}").members
    assert (members["error"], members["output"], members["status"]) == (error, None, "failed")


@pytest.mark.parametrize(
    ("result", "arguments", "says"),
    [
        (raising(KeyError("ref")), "{}", rf"^{DEPLOYING}: it raised KeyError: 'ref', at .*\.py:\d+\n  at "),
        (lambda ref: ref, "{}", "it raised TypeError: .*'ref'"),
        (lambda: object(), "{}", "it raised TypeError: Type is not JSON serializable"),
        (lambda ref: ref, "[]", r"the arguments are \[\]\. A tool function takes the members of an object by name"),
        (lambda ref: ref, "{", r"the arguments are \{\. A tool function"),
        (raising(ScriptError("mine")), "{}", r"^mine, at .*\.py:\d+\n  at "),
        (ToolError({"type": "odd"}), "{}", r"is not valid output of the API: .* \(at error"),
    ],
)
def test_other_errors_of_a_tool_are_reported_to_its_author(result, arguments, says):
    with pytest.raises(ScriptError, match=says):
        build_server("prod", {"deploy": result}).call("deploy", arguments)


@pytest.mark.parametrize(
    ("name", "offer", "says"),
    [
        ("rollback", {}, r"^mcp_call\('prod', 'rollback'\): the model can call deploy, status of this server\. Add"),
        ("deploy", {"allowed_tools": ["status"]}, "the model can call status of this server"),
        ("deploy", {"allowed_tools": []}, "the model can call none of this server"),
    ],
)
def test_a_tool_that_the_model_cannot_call_is_a_fault_of_the_script(prod, name, offer, says):
    with pytest.raises(ScriptError, match=says):
        prod.find_tool(name, offer)


@pytest.mark.parametrize(
    ("label", "tools", "error", "says"),
    [
        ("prod", ["deploy"], ConfigError, r"mcp\('prod'\): tools is \['deploy'\]\. Pass a dict"),
        ("", {}, ScriptError, "server_label is ''"),
        ("prod", {"": "x"}, ScriptError, r"tools\[0\] is .*Pass a name"),
        (
            "prod",
            {"deploy": {"description": "Deploys."}},
            ConfigError,
            "tool 'deploy' has description. A dict with `result` may have annotations, description, input_schema",
        ),
        ("prod", {"deploy": {"result": "x", "schema": {}}}, ConfigError, "tool 'deploy' has result, schema"),
        (
            "prod",
            {"deploy": {"description": 1, "result": "x"}},
            ConfigError,
            r"Invalid type for .tools\[0\]\.description.: expected a string",
        ),
    ],
)
def test_a_server_that_is_declared_wrongly(label, tools, error, says):
    with pytest.raises(error, match=says):
        build_server(label, tools)


V2 = {"ref": "v2"}
DEPLOY = mcp_call("prod", "deploy", V2)
DEPLOY_V3 = mcp_call("prod", "deploy", {"ref": "v3"})
STATUS = mcp_call("prod", "status")
LISTED = "mcp_list_tools"
ASKED = "mcp_approval_request"
CALLED = "mcp_call"


def prod_server(require_approval: Any = "always", **members: Any) -> Json:
    url = "https://mcp.example.org/sse"
    return {"type": "mcp", "server_label": "prod", "server_url": url, "require_approval": require_approval, **members}


class Team(Client):
    """A client whose World has an MCP server `prod_server`; `deployed` is what its tool really did."""

    def __init__(self, **account: Any) -> None:
        super().__init__(**account)
        self.deployed: list[str] = []
        self.mock.mcp("prod", {"deploy": self._deploy, "status": {"annotations": {"read_only": True}, "result": "up"}})

    def _deploy(self, ref: str) -> str:
        self.deployed.append(ref)
        return f"{ref} is live"

    def ask(self, input: Any = "hi", **members: Any) -> Answer:
        """Return the answer to a request that has the server among its tools, unless it says otherwise."""
        return super().ask(input, **{"tools": [prod_server()], **members})

    def answer(self, asked: Answer, *approve: bool, items: list[Json] | None = None, **members: Any) -> Answer:
        """Return the answer to the request that answers what `asked` asked for, by chain."""
        given = [*(items or []), *map(answered, requests(asked), approve)]
        return self.ask(given, previous_response_id=asked.body["id"], **members)


def answered(request: Json, approve: bool = True, **members: Any) -> Json:
    return {"type": "mcp_approval_response", "approval_request_id": request["id"], "approve": approve, **members}


def requests(answer: Answer) -> list[Json]:
    return [item for item in answer.body["output"] if item["type"] == ASKED]


def types(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.body
    return [item["type"] for item in answer.body["output"]]


@pytest.fixture
def team() -> Team:
    return Team()


def test_a_call_that_needs_leave_is_asked_for_and_approved_comes_before_the_words_after_it(team):
    team.mock.script([reasoning("**Deploying**"), DEPLOY, message("v2 is out.")])
    asked = team.ask()
    assert types(asked) == [LISTED, "reasoning", ASKED]
    assert asked.body["status"] == "completed"
    request = asked.body["output"][2]
    assert request["id"].startswith("mcpr_")
    assert (request["server_label"], request["name"], request["arguments"]) == ("prod", "deploy", '{"ref":"v2"}')
    assert team.deployed == []
    done = team.answer(asked, True)
    assert types(done) == [CALLED, "message"]
    call = done.body["output"][0]
    assert (call["output"], call["status"], call["error"]) == ("v2 is live", "completed", None)
    assert call["approval_request_id"] == request["id"]
    assert team.deployed == ["v2"]


@pytest.mark.parametrize("call", [DEPLOY, mcp_call("prod", "deploy"), mcp_call("prod", "deploy", '{ "ref": "v2" }')])
@pytest.mark.parametrize("asks", [DEPLOY, mcp_approval_request("prod", "deploy", V2)])
def test_a_call_that_is_scripted_after_its_approval_is_the_approved_one(team, asks, call):
    team.mock.script(asks, [call, message("v2 is out.")])
    asked = team.ask()
    done = team.answer(asked, True)
    assert types(done) == [CALLED, "message"]
    assert done.body["output"][0]["output"] == "v2 is live"
    assert done.body["output"][0]["approval_request_id"] == requests(asked)[0]["id"]
    assert [(call.approve, call.executed) for call in team.mock.approvals] == [(True, 1)]
    assert team.deployed == ["v2"]


def test_a_result_that_is_scripted_after_an_approval_is_that_of_the_approved_call(team):
    team.mock.script(DEPLOY, [mcp_call("prod", "deploy", V2, output="as scripted"), message("v2 is out.")])
    asked = team.ask()
    done = team.answer(asked, True)
    assert types(done) == [CALLED, "message"]
    assert done.body["output"][0]["output"] == "as scripted"
    assert done.body["output"][0]["approval_request_id"] == requests(asked)[0]["id"]
    assert team.deployed == []


def test_the_approved_call_with_the_same_arguments_is_made_among_several(team):
    bare = mcp_call("prod", "deploy", {})
    team.mock.script([DEPLOY, bare], [mcp_call("prod", "deploy", output="latest"), message("Done.")])
    asked = team.ask()
    done = team.answer(asked, True, True)
    assert types(done) == [CALLED, CALLED, "message"]
    by_output = {item["output"]: item["approval_request_id"] for item in done.body["output"][:2]}
    assert by_output == {"v2 is live": requests(asked)[0]["id"], "latest": requests(asked)[1]["id"]}


@pytest.mark.parametrize("store", [True, False])
def test_without_scripted_servers_a_call_names_the_request_that_was_approved(store):
    client = Client()
    client.mock.script(mcp_approval_request("prod", "deploy", V2), [mcp_call("prod", "deploy", V2, output="live")])
    asked = client.ask(tools=[prod_server()], store=store)
    given = [answered(asked.body["output"][0])]
    before = {"previous_response_id": asked.body["id"]} if store else {}
    # An approved call needs no tool, as that of the request for the approval is enough.
    done = client.ask(given if store else [*asked.body["output"], *given], store=store, **before)
    assert types(done) == [CALLED]
    assert done.body["output"][0]["approval_request_id"] == asked.body["output"][0]["id"]
    assert [(approval.approve, approval.executed) for approval in client.mock.approvals] == [(True, 1)]


def test_a_call_before_any_approval_names_none():
    client = Client()
    client.mock.script(mcp_approval_request("prod", "deploy", V2), DEPLOY)
    asked = client.ask(tools=[prod_server()])
    denied = client.ask(
        [answered(asked.body["output"][0], approve=False)], tools=[prod_server()], previous_response_id=asked.body["id"]
    )
    assert [item["approval_request_id"] for item in denied.body["output"]] == [None]


@pytest.mark.parametrize("approve", [True, False])
def test_a_call_that_names_what_was_not_approved_is_a_mistake_of_the_script(team, approve):
    def call(request: Any) -> Any:
        own = request.body["input"][0]["approval_request_id"]
        return [mcp_call("prod", "deploy", V2, output="x", approval_request_id="mcpr_other" if approve else own)]

    team.mock.script(mcp_approval_request("prod", "deploy", V2), call)
    refused = team.answer(team.ask(), approve)
    assert refused.status == 418
    assert refused.body["error"]["message"].startswith(
        "script, turn 2: mcp_call('prod'): the client has not approved the request 'mcpr_"
    )
    assert "Leave `approval_request_id` out" in refused.body["error"]["message"]


YES, DONE = (True,), [CALLED, "Done."]


@pytest.mark.parametrize(
    ("turns", "answers", "deployed"),
    [
        ([[DEPLOY, message("Out.")], "Done."], [((False,), ["Done."])], []),
        ([DEPLOY, DEPLOY, "Done."], [((False,), [ASKED]), (YES, DONE)], ["v2"]),
        ([DEPLOY, DEPLOY_V3, "Done."], [(YES, [CALLED, ASKED]), (YES, DONE)], ["v2", "v3"]),
        ([DEPLOY, [DEPLOY_V3, DEPLOY], "Done."], [(YES, [ASKED, CALLED]), (YES, DONE)], ["v2", "v3"]),
        (
            [DEPLOY, [reasoning("**Again**"), DEPLOY], "Done."],
            [(YES, [CALLED, "reasoning", ASKED]), (YES, DONE)],
            ["v2", "v2"],
        ),
        ([[DEPLOY, DEPLOY_V3, message("Both.")], "Done."], [((False, True), DONE)], ["v3"]),
    ],
    ids=["denied", "asked again", "another", "another first", "after other items", "one of two"],
)
def test_what_is_approved_is_called_and_what_is_said_after_a_denial_is_the_next_turn(team, turns, answers, deployed):
    team.mock.script(*turns)
    asked = team.ask()
    for approve, told in answers:
        asked = team.answer(asked, *approve)
        output = asked.body["output"]
        assert [item["content"][0]["text"] if item["type"] == "message" else item["type"] for item in output] == told
    assert team.deployed == deployed
    assert sum(approval.executed for approval in team.mock.approvals) == len(deployed)


@pytest.mark.parametrize("turns", [[[DEPLOY, message("v2 is out.")]], [DEPLOY, message("v2 is out.")]])
def test_a_call_that_needs_no_leave_runs_in_the_same_response(team, turns):
    team.mock.script(*turns)
    assert types(team.ask(tools=[prod_server("never")])) == [LISTED, CALLED, "message"]
    assert (team.deployed, team.mock.approvals) == (["v2"], [])


def test_the_model_may_call_again_after_a_call(team):
    team.mock.script(STATUS, [reasoning("**Up**"), DEPLOY], message("v2 is out."))
    asked = team.ask(tools=[prod_server({"never": {"read_only": True}})])
    assert types(asked) == [LISTED, CALLED, "reasoning", ASKED]
    assert types(team.answer(asked, True)) == [CALLED, "message"]


def test_several_at_once_are_all_asked_for(team):
    team.mock.script([DEPLOY, DEPLOY_V3, STATUS, message("All done.")])
    asked = team.ask(tools=[prod_server({"never": {"tool_names": ["status"]}})])
    assert types(asked) == [LISTED, ASKED, ASKED, CALLED]
    done = team.answer(asked, True, True)
    assert types(done) == [CALLED, CALLED, "message"]
    assert [call["output"] for call in done.body["output"][:2]] == ["v2 is live", "v3 is live"]


def test_every_request_must_be_answered(team):
    team.mock.script([DEPLOY, DEPLOY_V3])
    asked = team.ask()
    first, second = requests(asked)
    said = "The following MCP approval requests do not have an approval: "
    assert error(team.answer(asked)) == (400, f"{said}{first['id']}, {second['id']}", "input", None)
    assert error(team.answer(asked, True)) == (400, f"{said}{second['id']}", "input", None)
    assert team.deployed == []


def test_calls_of_the_client_stand_beside_them_and_must_be_answered_too(team):
    team.mock.script([DEPLOY, function_call("notify", {}, call_id="call_1"), message("Both.")])
    asked = team.ask(tools=[prod_server(), *functions("notify")])
    assert types(asked) == [LISTED, ASKED, "function_call"]
    assert error(team.answer(asked, True))[1] == "No tool output found for function call call_1."
    output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    unanswered = team.answer(asked, items=[output])
    assert unanswered.body["error"]["message"].startswith("The following MCP approval requests do not have an approval")
    assert types(team.answer(asked, True, items=[output])) == [CALLED, "message"]
    assert team.deployed == ["v2"]


def test_a_call_of_the_client_beside_one_that_ran_ends_the_response(team):
    team.mock.script([function_call("notify", {}, call_id="call_1"), STATUS], message("Later."))
    assert types(team.ask(tools=[prod_server("never"), *functions("notify")])) == [LISTED, "function_call", CALLED]


def test_in_a_conversation_the_answer_alone_is_enough(team):
    team.mock.script([DEPLOY, message("v2 is out.")], message("Hello."))
    conversation = team.send("POST /conversations", {}).body["id"]
    asked = team.ask(conversation=conversation)
    assert team.ask("Well?", conversation=conversation).status == 400
    given = [answered(request) for request in requests(asked)]
    assert types(team.ask(given, conversation=conversation)) == [CALLED, "message"]
    assert types(team.ask("Hi.", conversation=conversation)) == ["message"]
    assert team.deployed == ["v2"]


def test_without_storage_everything_is_sent_again(team):
    team.mock.script([DEPLOY, message("v2 is out.")], message("Hello."))
    history = [user("Ship v2."), *team.ask("Ship v2.", store=False).body["output"]]
    history.append(answered(history[-1]))
    done = team.ask(history, store=False)
    assert types(done) == [CALLED, "message"]
    assert types(team.ask([*history, *done.body["output"], user("Hi.")], store=False)) == ["message"]
    [approval] = team.mock.approvals
    assert (team.deployed, approval.answers, approval.runs) == (["v2"], (2,), (2,))


def test_a_client_that_loses_the_call_has_it_made_twice(team):
    team.mock.script([DEPLOY, message("v2 is out.")])
    history = [user("Ship v2."), *team.ask("Ship v2.", store=False).body["output"]]
    for _ in range(2):
        assert types(team.ask([*history, answered(history[-1])], store=False)) == [CALLED, "message"]
    [approval] = team.mock.approvals
    assert (team.deployed, approval.executed, approval.runs) == (["v2", "v2"], 2, (2, 3))


def test_an_answer_to_what_another_chain_asked_is_refused(team):
    team.mock.script(DEPLOY, message("Hello."))
    asked = team.ask()
    other = team.ask("hi", tools=[])
    refused = team.ask([answered(requests(asked)[0])], previous_response_id=other.body["id"])
    words = "The following MCP approval requests have approval responses but weren't passed as input: "
    assert error(refused) == (400, words + requests(asked)[0]["id"], "input", None)
    assert (team.deployed, team.mock.approvals[0].answers) == ([], ())


def test_a_tool_that_fails_does_not_stop_the_model(team):
    team.mock.mcp("prod", {"deploy": ToolError("locked")})
    team.mock.script([DEPLOY, message("It is locked.")])
    done = team.answer(team.ask(), True)
    assert types(done) == [CALLED, "message"]
    call = done.body["output"][0]
    assert (call["status"], call["output"], call["error"]["content"][0]["text"]) == ("failed", None, "locked")
    assert team.mock.approvals[0].executed == 1


def test_the_tools_are_listed_once_in_a_chain_and_only_those_allowed(team):
    team.mock.script(message("Hello."), message("Again."))
    first = team.ask(tools=[prod_server(allowed_tools=["status"])])
    assert types(first) == [LISTED, "message"]
    assert [tool["name"] for tool in first.body["output"][0]["tools"]] == ["status"]
    assert types(team.ask(previous_response_id=first.body["id"])) == ["message"]


def test_a_server_that_joins_later_is_listed_then(team):
    team.mock.mcp("docs", {})
    team.mock.script(message("Hello."), message("Again."))
    first = team.ask()
    second = team.ask(previous_response_id=first.body["id"], tools=[prod_server(), prod_server(server_label="docs")])
    assert [item.get("server_label") for item in second.body["output"]] == ["docs", None]


def test_without_the_list_in_the_transcript_it_is_sent_again_before_the_call(team):
    team.mock.script([DEPLOY, message("v2 is out.")])
    asked = team.ask()
    reference = {"type": "item_reference", "id": requests(asked)[0]["id"]}
    again = team.ask([user("Ship v2."), reference, answered(requests(asked)[0])])
    assert types(again) == [LISTED, CALLED, "message"]


def test_a_list_in_the_script_is_the_only_one(team):
    team.mock.script([mcp_list_tools("prod", ["deploy"]), message("Hello.")])
    assert types(team.ask()) == [LISTED, "message"]


def test_a_stream_tells_the_same(team):
    team.mock.script([DEPLOY, message("v2 is out.")])
    asked = team.ask(stream=True)
    names = [event["type"] for event in asked.events or ()]
    assert names[2:4] == ["response.output_item.added", "response.mcp_list_tools.in_progress"]
    done = team.answer(asked, True, stream=True)
    calls = [event["type"].partition(".mcp_call")[2] for event in done.events or () if ".mcp_call" in event["type"]]
    assert calls == [".in_progress", "_arguments.delta", ".in_progress", "_arguments.done", ".completed"]


def test_what_breaks_off_after_a_call_breaks_off_after_the_approval(team):
    team.mock.script([DEPLOY, message("v2 is"), incomplete(), make_delay(7)])
    asked = team.ask()
    assert (asked.body["status"], asked.delivery.delay) == ("completed", 7)
    done = team.answer(asked, True)
    assert (done.body["status"], done.delivery) == ("incomplete", None)


def test_a_response_that_fails_after_the_call_has_made_it(team):
    team.mock.script(DEPLOY, failed(), message("v2 is out."))
    asked = team.ask()
    assert team.answer(asked, True).status == 500
    assert types(team.answer(asked, True)) == [CALLED, "message"]
    [approval] = team.mock.approvals
    assert (team.deployed, approval.answers, approval.runs) == (["v2", "v2"], (2, 3), (2, 3))


def test_a_script_may_still_say_everything_itself(team):
    def call(request: Any) -> Any:
        id = request.body["input"][0]["approval_request_id"]
        return [mcp_call("prod", "deploy", V2, output="done by hand", approval_request_id=id), message("Done.")]

    team.mock.script([mcp_list_tools("prod"), mcp_approval_request("prod", "deploy", V2)], call)
    done = team.answer(team.ask(), True)
    assert [item.get("output") for item in done.body["output"]] == ["done by hand", None]
    [approval] = team.mock.approvals
    assert (team.deployed, approval.approve, approval.executed) == ([], True, 1)


def test_calls_of_other_servers_are_left_as_they_are(team):
    team.mock.script([mcp_call("docs", "ask"), message("Done.")])
    assert types(team.ask(tools=[prod_server(), mcp_tool("docs")])) == [LISTED, CALLED, "message"]


def test_a_request_without_the_server_cannot_have_it_called(team):
    team.mock.script(DEPLOY)
    refused = team.ask(tools=[])
    assert refused.status == 418
    assert refused.body["error"]["message"] == (
        "mcp_call('prod', 'deploy'): the request has no such server, so the model cannot call it. Declare it in its "
        'tools: {"type": "mcp", "server_label": "prod", "server_url": "…"}.'
    )


def test_without_words_after_it_no_call_is_made(team):
    team.mock.script(DEPLOY)
    assert team.answer(team.ask(), True).body["error"]["code"] == "NoTurn"
    assert (team.deployed, team.mock.approvals[0].executed) == ([], 0)


def test_a_model_that_only_calls_is_stopped(team):
    def loops(request: Any) -> Any:
        while True:
            yield STATUS

    team.mock.script(loops)
    refused = team.ask(tools=[prod_server("never")])
    assert refused.body["error"]["message"].startswith("100 consecutive turns end with an MCP call.")


class TestAConnection:
    """A WebSocket asks for leave as HTTP does."""

    def test_a_connection_goes_on_after_the_answer(self):
        socket = Socket()
        socket.mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live"})
        socket.mock.script([DEPLOY, message("v2 is out.")])
        asked = socket.made(tools=[prod_server()], store=False)
        given = [answered(asked["output"][-1])]
        done = socket.made(given, previous_response_id=asked["id"], tools=[prod_server()], store=False)
        assert [item["type"] for item in done["output"]] == [CALLED, "message"]
        [approval] = socket.mock.approvals
        assert (approval.asked, approval.answers, approval.runs) == (1, (2,), (2,))

    def test_a_connection_lists_and_calls_nothing_while_it_warms_up(self):
        socket = Socket()
        socket.mock.mcp("prod", {})
        assert socket.made(tools=[prod_server()], generate=False)["output"] == []
