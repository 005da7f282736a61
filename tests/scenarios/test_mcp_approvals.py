"""The story of a deployment by a remote MCP server: the API asks for leave, the call is made once or never."""

from __future__ import annotations

import openai
import pytest

from harness.items import function_call, mcp_call, message, reasoning

PROD = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}
NOTIFY = {"type": "function", "name": "notify", "parameters": {"type": "object", "properties": {}}, "strict": False}
UNASKED = "The following MCP approval requests have approval responses but weren't passed as input: "
UNANSWERED = "The following MCP approval requests do not have an approval: "


@pytest.fixture
def deployed(mock):
    """A server `prod` that deploys, and the record of what it really deployed."""
    record = []

    def deploy(ref: str) -> str:
        record.append(ref)
        return f"{ref} is live"

    mock.mcp("prod", {"deploy": {"description": "Puts a version live.", "result": deploy}, "status": "up"})
    return record


def deploy(ref="v2"):
    return mcp_call("prod", "deploy", {"ref": ref})


def ship(client, **options):
    options = {"model": "gpt-4.1", "tools": [PROD], "input": "Ship v2.", **options}
    return client.responses.create(**options)


def asked(response):
    return [item for item in response.output if item.type == "mcp_approval_request"]


def approvals(response, approve=True, **members):
    return [
        {"type": "mcp_approval_response", "approval_request_id": item.id, "approve": approve, **members}
        for item in asked(response)
    ]


def kinds(response):
    return [item.type for item in response.output]


def test_approved_in_a_chain_it_is_deployed_once(mock, client, deployed):
    mock.script([deploy(), message("v2 is out.")])
    first = ship(client)
    assert (kinds(first), deployed) == (["mcp_list_tools", "mcp_approval_request"], [])
    second = ship(client, previous_response_id=first.id, input=approvals(first))
    assert (kinds(second), second.output_text) == (["mcp_call", "message"], "v2 is out.")
    assert (second.output[0].output, second.output[0].approval_request_id) == ("v2 is live", asked(first)[0].id)
    [approval] = mock.approvals
    assert (approval.server_label, approval.name, approval.arguments) == ("prod", "deploy", '{"ref":"v2"}')
    assert (approval.asked, approval.answers, approval.approve, approval.runs) == (1, (2,), True, (2,))
    assert (deployed, approval.executed) == (["v2"], 1)


def test_denied_it_is_not_deployed_and_the_reason_is_known(mock, client, deployed):
    mock.script([deploy(), message("v2 is out.")], message("Not shipped."))
    first = ship(client)
    second = ship(client, previous_response_id=first.id, input=approvals(first, approve=False, reason="It is Friday."))
    assert (kinds(second), second.output_text, deployed) == (["message"], "Not shipped.", [])
    [approval] = mock.approvals
    assert (approval.approve, approval.reason, approval.executed) == (False, "It is Friday.", 0)


def test_in_a_conversation_the_answer_finds_its_request(mock, client, deployed):
    mock.script([deploy(), message("v2 is out.")])
    conversation = client.conversations.create().id
    first = ship(client, conversation=conversation)
    second = ship(client, conversation=conversation, input=approvals(first))
    assert (second.output_text, deployed) == ("v2 is out.", ["v2"])
    kept = [item.type for item in client.conversations.items.list(conversation, order="asc")]
    assert kept == [
        *("message", "mcp_list_tools", "mcp_approval_request"),
        *("mcp_approval_response", "mcp_call", "message"),
    ]


def test_without_storage_the_client_carries_it_all(mock, client, deployed):
    mock.script([reasoning(encrypted_content="gAAAA"), deploy(), message("v2 is out.")], message("Yesterday."))
    stateless = {"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}
    history = [{"role": "user", "content": "Ship v2."}]
    first = ship(client, input=history, **stateless)
    history += [*(item.to_dict() for item in first.output), *approvals(first)]
    second = ship(client, input=history, **stateless)
    assert kinds(second) == ["mcp_call", "message"]
    history += [*(item.to_dict() for item in second.output), {"role": "user", "content": "When?"}]
    assert ship(client, input=history, **stateless).output_text == "Yesterday."
    assert (deployed, mock.approvals[0].answers, mock.approvals[0].executed) == (["v2"], (2,), 1)


def test_a_stream_asks_and_goes_on_too(mock, client, deployed):
    mock.script([deploy(), message(["v2 is ", "out."])])
    with client.responses.stream(model="gpt-4.1", tools=[PROD], input="Ship v2.") as stream:
        first = stream.get_final_response()
    with client.responses.stream(
        model="gpt-4.1", tools=[PROD], previous_response_id=first.id, input=approvals(first)
    ) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
    assert (deltas, deployed, mock.approvals[0].executed) == (["v2 is ", "out."], ["v2"], 1)


@pytest.mark.parametrize("require_approval", ["never", {"never": {"tool_names": ["deploy"]}}])
def test_where_no_leave_is_needed_nobody_is_asked(mock, client, deployed, require_approval):
    mock.script([deploy(), message("v2 is out.")])
    response = ship(client, tools=[{**PROD, "require_approval": require_approval}])
    assert kinds(response) == ["mcp_list_tools", "mcp_call", "message"]
    assert (deployed, mock.approvals) == (["v2"], [])


def test_of_two_deployments_one_is_approved(mock, client, deployed):
    mock.script([deploy("v2"), deploy("v3")], message("v3 only."))
    first = ship(client)
    [no], [yes] = approvals(first, approve=False)[:1], approvals(first)[1:]
    second = ship(client, previous_response_id=first.id, input=[no, yes])
    assert (kinds(second), second.output_text, deployed) == (["mcp_call", "message"], "v3 only.", ["v3"])
    assert [(approval.approve, approval.executed) for approval in mock.approvals] == [(False, 0), (True, 1)]


def test_a_function_beside_it_must_be_answered_in_the_same_request(mock, client, deployed):
    mock.script([deploy(), function_call("notify", {}, call_id="call_1")], message("Both."))
    tools = [PROD, NOTIFY]
    first = ship(client, tools=tools)
    output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    with pytest.raises(openai.BadRequestError, match=r"No tool output found for function call call_1\."):
        ship(client, tools=tools, previous_response_id=first.id, input=approvals(first))
    with pytest.raises(openai.BadRequestError, match=UNANSWERED + asked(first)[0].id):
        ship(client, tools=tools, previous_response_id=first.id, input=[output])
    assert deployed == []
    second = ship(client, tools=tools, previous_response_id=first.id, input=[output, *approvals(first)])
    assert (second.output_text, deployed, mock.approvals[0].executed) == ("Both.", ["v2"], 1)


def test_an_answer_in_the_wrong_conversation_is_refused(mock, client, deployed):
    mock.script(deploy())
    conversations = [client.conversations.create().id for _ in range(2)]
    first = ship(client, conversation=conversations[0])
    with pytest.raises(openai.BadRequestError, match=UNASKED + asked(first)[0].id):
        ship(client, conversation=conversations[1], input=approvals(first))
    assert (deployed, mock.approvals[0].executed) == ([], 0)


@pytest.mark.harness(losses=["output-twice"])
def test_approved_twice_it_is_deployed_once_and_seen(mock, client, deployed):
    mock.script([deploy(), message("v2 is out.")], message("It is out already."))
    first = ship(client)
    second = ship(client, previous_response_id=first.id, input=approvals(first))
    ship(client, previous_response_id=second.id, input=approvals(first))
    assert (deployed, mock.approvals[0].answers, mock.approvals[0].executed) == (["v2"], (2, 3), 1)


def test_a_retry_from_before_the_call_deploys_twice_and_is_seen(mock, client, deployed):
    mock.script([deploy(), message("v2 is out.")])
    first = ship(client)
    for _ in range(2):
        ship(client, previous_response_id=first.id, input=approvals(first))
    assert (deployed, mock.approvals[0].executed, mock.approvals[0].runs) == (["v2", "v2"], 2, (2, 3))


def test_in_the_background_it_asks_as_well(mock, client, deployed):
    mock.script([deploy(), message("v2 is out.")])
    first = ship(client, background=True)
    while first.status != "completed":
        first = client.responses.retrieve(first.id)
    second = ship(client, previous_response_id=first.id, input=approvals(first))
    assert (second.output_text, deployed) == ("v2 is out.", ["v2"])
