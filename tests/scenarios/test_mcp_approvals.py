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


def test_denied_it_is_not_deployed_and_the_reason_is_known(mock, client, deployed):
    mock.script([DEPLOY, message("v2 is out.")], message("Not shipped."))
    first = ship(client)
    second = ship(client, previous_response_id=first.id, input=approvals(first, approve=False, reason="It is Friday."))
    assert (kinds(second), second.output_text, deployed) == (["message"], "Not shipped.", [])
    [approval] = mock.approvals
    assert (approval.approve, approval.reason, approval.executed) == (False, "It is Friday.", 0)


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
