"""azure-ai-agents: threads, messages, runs and their steps."""

import pytest
from azure.ai.agents import AgentsClient
from azure.ai.agents.models import AgentEventHandler, FunctionTool, ToolSet
from azure.core.exceptions import HttpResponseError
from story import DEPLOY

from harness.items import file_citation, file_search_call, mcp_approval_request, mcp_call, message

TOOL = {"type": "function", "function": {"name": "deploy", "parameters": {"type": "object", "properties": {}}}}
CITED = message("See the report.", annotations=[file_citation("file-1", "report.pdf", 14)])


@pytest.fixture
def agents(mock, foundry_credential):
    with AgentsClient(mock.project_endpoint, foundry_credential) as client:
        yield client


@pytest.fixture
def thread(agents):
    made = agents.threads.create()
    agents.messages.create(made.id, role="user", content="Ship v2.")
    return made


def settled(agents, run):
    """Return a run that does not go on by itself."""
    while run.status in ("queued", "in_progress"):
        run = agents.runs.get(run.thread_id, run.id)
    return run


def test_run_to_its_end(mock, agents, thread):
    mock.script(message("Hello."))
    agent = agents.create_agent(model="mine", name="helper", instructions="Help.")
    run = agents.runs.create_and_process(thread.id, agent_id=agent.id, polling_interval=0)
    assert run.status == "completed"
    said, asked = agents.messages.list(thread.id)
    assert (said.text_messages[0].text.value, asked.text_messages[0].text.value) == ("Hello.", "Ship v2.")
    assert [step.type for step in agents.run_steps.list(thread.id, run.id)] == ["message_creation"]
    agents.delete_agent(agent.id)


def test_functions_run_by_themselves(mock, agents, thread):
    deployed = []

    def deploy(ref: str) -> str:
        """Deploy a reference.

        :param ref: what to deploy
        """
        deployed.append(ref)
        return f"{ref} is live"

    tools = ToolSet()
    tools.add(FunctionTool({deploy}))
    agents.enable_auto_function_calls(tools)
    mock.script(DEPLOY, message("v2 is out."))
    agent = agents.create_agent(model="mine", toolset=tools)
    run = agents.runs.create_and_process(thread.id, agent_id=agent.id, toolset=tools, polling_interval=0)
    assert (run.status, deployed) == ("completed", ["v2"])
    first, second = reversed(list(agents.run_steps.list(thread.id, run.id)))
    assert (first.type, second.type) == ("tool_calls", "message_creation")


def test_tool_outputs_by_hand(mock, agents, thread):
    mock.script(DEPLOY, message("v2 is out."))
    agent = agents.create_agent(model="mine", tools=[TOOL])
    run = agents.runs.create(thread.id, agent_id=agent.id)
    run = settled(agents, run)
    (call,) = run.required_action.submit_tool_outputs.tool_calls
    with pytest.raises(HttpResponseError, match="already has an active run"):
        agents.runs.create(thread.id, agent_id=agent.id)
    output = {"tool_call_id": call.id, "output": "live"}
    run = agents.runs.submit_tool_outputs(thread.id, run.id, tool_outputs=[output])
    assert settled(agents, run).status == "completed"


class Handler(AgentEventHandler):
    """Keeps what a stream says; with `submit` it answers the calls that a run waits for."""

    def __init__(self, submit=None):
        super().__init__()
        self.text, self.messages, self.submit = "", [], submit

    def on_message_delta(self, delta):
        self.text += delta.text

    def on_thread_message(self, message):
        self.messages.append(message)

    def on_thread_run(self, run):
        if run.status == "requires_action":
            calls = run.required_action.submit_tool_outputs.tool_calls
            outputs = [{"tool_call_id": call.id, "output": "live"} for call in calls]
            self.submit(run.thread_id, run.id, tool_outputs=outputs, event_handler=self)


def test_stream_with_citations(mock, agents, thread):
    mock.script([file_search_call(["report"]), CITED])
    agent = agents.create_agent(model="mine", tools=[{"type": "file_search"}])
    with agents.runs.stream(thread.id, agent_id=agent.id, event_handler=Handler()) as handler:
        handler.until_done()
    (cited,) = handler.messages[-1].file_citation_annotations
    assert handler.messages[-1].text_messages[0].text.value == handler.text
    assert cited.file_citation.file_id == "file-1"


def test_stream_of_functions(mock, agents, thread):
    mock.script(DEPLOY, message("v2 is out."))
    agent = agents.create_agent(model="mine", tools=[TOOL])
    handler = Handler(agents.runs.submit_tool_outputs_stream)
    with agents.runs.stream(thread.id, agent_id=agent.id, event_handler=handler) as stream:
        stream.until_done()
    assert handler.text == "v2 is out."


def test_tool_that_needs_leave(mock, agents, thread):
    from azure.ai.agents.models import McpTool, ToolApproval

    asked, called = mcp_approval_request("prod", "deploy", {}), mcp_call("prod", "deploy", {}, output="live")
    mock.script(asked, [called, message("Done.")])
    tool = McpTool(server_label="prod", server_url="https://mcp.example.org")
    agent = agents.create_agent(model="mine", tools=tool.definitions)
    run = agents.runs.create(thread.id, agent_id=agent.id, tool_resources=tool.resources)
    run = settled(agents, run)
    (call,) = run.required_action.submit_tool_approval.tool_calls
    with pytest.raises(HttpResponseError, match="already has an active run"):
        agents.runs.create(thread.id, agent_id=agent.id)
    leave = ToolApproval(tool_call_id=call.id, approve=True)
    run = agents.runs.submit_tool_outputs(thread.id, run.id, tool_approvals=[leave])
    assert settled(agents, run).status == "completed"
    assert agents.messages.get_last_message_text_by_role(thread.id, "assistant").text.value == "Done."


def test_unknown_thread(mock, agents):
    with pytest.raises(HttpResponseError, match="No thread found with id 'thread_x'"):
        agents.threads.get("thread_x")
