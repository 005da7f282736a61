"""The story of a deployment by a remote MCP server: the API asks for leave, the call is made once or never."""

import pytest

from harness.items import mcp_call, message

PROD = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}
DEPLOY = mcp_call("prod", "deploy", {"ref": "v2"})


@pytest.fixture
def deployed(mock):
    """A server `prod` that deploys, and the record of what it really deployed."""
    record = []

    def deploy(ref: str) -> str:
        record.append(ref)
        return f"{ref} is live"

    mock.mcp("prod", {"deploy": {"description": "Puts a version live.", "result": deploy}, "status": "up"})
    return record


def ship(client, **options):
    options = {"model": "gpt-4.1", "tools": [PROD], "input": "Ship v2.", **options}
    return client.responses.create(**options)


def approvals(response, approve=True, **members):
    """Return the user's answer to what a response asks last."""
    request = {"approval_request_id": response.output[-1].id, "approve": approve}
    return [{"type": "mcp_approval_response", **request, **members}]


def kinds(response):
    return [item.type for item in response.output]


def test_approved_in_a_chain_it_is_deployed_once(mock, client, deployed):
    mock.script([DEPLOY, message("v2 is out.")])
    first = ship(client)
    assert (kinds(first), deployed) == (["mcp_list_tools", "mcp_approval_request"], [])
    second = ship(client, previous_response_id=first.id, input=approvals(first))
    assert (kinds(second), second.output_text) == (["mcp_call", "message"], "v2 is out.")
    assert (second.output[0].output, second.output[0].approval_request_id) == ("v2 is live", first.output[-1].id)
    [approval] = mock.approvals
    assert (approval.server_label, approval.name, approval.arguments) == ("prod", "deploy", '{"ref":"v2"}')
    assert (approval.asked, approval.answers, approval.approve, approval.runs) == (1, (2,), True, (2,))
    assert (deployed, approval.executed) == (["v2"], 1)


def test_denied_it_is_not_deployed_and_the_reason_is_known(mock, client, deployed):
    mock.script([DEPLOY, message("v2 is out.")], message("Not shipped."))
    first = ship(client)
    second = ship(client, previous_response_id=first.id, input=approvals(first, approve=False, reason="It is Friday."))
    assert (kinds(second), second.output_text, deployed) == (["message"], "Not shipped.", [])
    [approval] = mock.approvals
    assert (approval.approve, approval.reason, approval.executed) == (False, "It is Friday.", 0)


def test_a_stream_asks_and_goes_on_too(mock, client, deployed):
    mock.script([DEPLOY, message(["v2 is ", "out."])])
    with client.responses.stream(model="gpt-4.1", tools=[PROD], input="Ship v2.") as stream:
        first = stream.get_final_response()
    with client.responses.stream(
        model="gpt-4.1", tools=[PROD], previous_response_id=first.id, input=approvals(first)
    ) as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
    assert (deltas, deployed, mock.approvals[0].executed) == (["v2 is ", "out."], ["v2"], 1)


@pytest.mark.harness(losses=["output-twice"])
def test_approved_twice_it_is_deployed_once_and_seen(mock, client, deployed):
    mock.script([DEPLOY, message("v2 is out.")], message("It is out already."))
    first = ship(client)
    second = ship(client, previous_response_id=first.id, input=approvals(first))
    ship(client, previous_response_id=second.id, input=approvals(first))
    assert (deployed, mock.approvals[0].answers, mock.approvals[0].executed) == (["v2"], (2, 3), 1)


def test_in_the_background_it_asks_as_well(mock, client, deployed):
    mock.script([DEPLOY, message("v2 is out.")])
    first = ship(client, background=True)
    while first.status != "completed":
        first = client.responses.retrieve(first.id)
    second = ship(client, previous_response_id=first.id, input=approvals(first))
    assert (second.output_text, deployed) == ("v2 is out.", ["v2"])
