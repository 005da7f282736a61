"""A whole flow as a text and as a Mermaid diagram: what was new in each request, and what the model said."""

import json
import re
from dataclasses import asdict

import pytest

from harness.analysis.flow import Flow, FlowStep, SequenceDiagram, SequenceMessage
from harness.analysis.loss import output
from harness.ending import incomplete
from harness.items import function_call, mcp_call, message, reasoning
from tests.support.threads import FUNCTION, Desk

USER = {"role": "user", "content": "Ship v2."}
PLANNER, OPS = "You are the planner.", "You are ops."


def told(world):
    """Return the lines of the transcript, each with single spaces."""
    return [" ".join(line.split()) for line in str(world.flow).splitlines()]


# What is told


def test_a_hand_off_and_a_tool(world, ask):
    world.when(instructions="planner").script(function_call("transfer_to_ops", {}, call_id="call_0"))
    world.when(instructions="ops").script(
        [reasoning("**Deploying**"), function_call("deploy", {"ref": "v2"}, call_id="call_1")], message("Done.")
    )
    passed = {"type": "function_call_output", "call_id": "call_0", "output": "ops"}
    history = [USER, *ask([USER], instructions=PLANNER)["output"], passed]
    history += [*ask(history, instructions=OPS)["output"], output()]
    ask(history, instructions=OPS)
    assert str(world.flow).splitlines() == [
        '  1  planner  user "Ship v2."',
        "              → function_call transfer_to_ops {} (call_0)",
        "  2  ops      handed over by planner: transfer_to_ops (call_0)",
        '              user "Ship v2."',
        '              function_call_output call_0 "ops"',
        '              → reasoning "**Deploying**"',
        '              → function_call deploy {"ref":"v2"} (call_1)',
        '  3  ops      function_call_output call_1 "v2 is live"',
        '              → assistant "Done."',
    ]


def test_only_new_items_of_a_resent_transcript_are_shown(world, ask):
    world.script(message("One."), message("Two."))
    said = ask([{"role": "system", "content": PLANNER}, USER])["output"]
    again = [{"role": "system", "content": PLANNER}, USER, *said, {"role": "user", "content": "More."}]
    ask(again)
    assert told(world)[2:] == ['2 planner user "More."', '→ assistant "Two."']


def test_what_stands_twice_or_was_changed_is_new(world, ask):
    world.script([message("One."), function_call("f", {"x": 1}, call_id="call_1")], message("Two."))
    said, call = ask([USER])["output"]
    ask([USER, said, said, {**call, "arguments": '{"x": 2}'}, output(), USER])
    assert told(world)[3:-1] == [
        '2 agent 1 assistant "One."',
        'function_call f {"x": 2} (call_1)',
        'function_call_output call_1 "v2 is live"',
        'user "Ship v2."',
    ]


def test_what_a_chain_repeats_is_shown_as_sent(world, ask):
    world.script(message("One."), message("Two."))
    first = ask([USER])
    ask([USER, {"role": "assistant", "content": "One."}], previous_response_id=first["id"])
    assert told(world)[2:-1] == ['2 agent 1 user "Ship v2."', 'assistant "One."']


def test_a_reference_to_an_earlier_item_is_nothing_new(world, ask):
    world.script(message("One."), message("Two."))
    [said] = ask([USER])["output"]
    ask([USER, {"type": "item_reference", "id": said["id"]}])
    ask([USER, {"type": "item_reference", "id": "msg_other"}])
    assert told(world)[2] == '2 agent 1 → assistant "Two."'
    assert told(world)[3] == "3 agent 1 item_reference (msg_other)"


def test_refusals_and_requests_without_an_answer_are_marked(world, ask):
    ask([{**USER, "bogus": 1}])
    ask([USER])
    assert told(world)[1] == "→ refused: 400 Unknown parameter: 'input[0].bogus'."
    assert told(world)[2].startswith("2 agent 1 → no answer: No turn is left for this request")


def test_what_is_not_whole_says_how_it_ended(world, ask):
    world.script([message("Once upon"), incomplete("max_output_tokens")], message("Later."))
    ask([USER])
    made = ask([USER], background=True)
    for _ in range(2):
        ask(None, f"GET /v1/responses/{made['id']}")
    assert [line for line in told(world) if "→" in line] == [
        '→ assistant "Once upon"',
        "→ incomplete (max_output_tokens)",
        "2 agent 1 → queued",
        "→ in_progress",
        '→ assistant "Later."',
    ]


def test_approvals_are_shown_with_their_ids(world, ask):
    world.mcp("prod", {"deploy": "up"})
    world.script([mcp_call("prod", "deploy", {"ref": "v2"}), message("Out.")])
    tools = [{"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}]
    first = ask([USER], tools=tools)
    id = first["output"][-1]["id"]
    yes = {"type": "mcp_approval_response", "approval_request_id": id, "approve": True}
    ask([yes], tools=tools, previous_response_id=first["id"])
    assert told(world)[1:] == [
        "→ mcp_list_tools prod",
        f'→ mcp_approval_request prod.deploy {{"ref":"v2"}} ({id})',
        f"2 agent 1 mcp_approval_response {id[:39]}… approved",
        '→ mcp_call prod.deploy "up"',
        '→ assistant "Out."',
    ]
    assert "participant P3 as MCP server prod" in world.flow.mermaid
    assert 'P2->>P3: deploy {"ref":"v2"}\n  P3-->>P2: up\n' in world.flow.mermaid


def test_runs_tell_messages_calls_and_outputs():
    desk = Desk(name="ops", tools=[FUNCTION])
    desk.mock.script(function_call("f", {}, call_id="call_1"), message("Done."))
    thread = desk.thread()
    desk.send(f"POST /threads/{thread}/messages", {"role": "user", "content": "Ship v2."})
    waiting = desk.settled(desk.run(thread).body)
    [call] = waiting["required_action"]["submit_tool_outputs"]["tool_calls"]
    desk.submit(waiting, {call["id"]: "up"}, stream=True)
    desk.messages(thread)
    assert [line for line in told(desk.mock) if not re.match(r"\d", line)] == [
        'user "Ship v2."',
        "→ queued",
        "→ in_progress",
        f"→ function_call f {{}} ({call['id']})",
        f'function_call_output {call["id"]} "up"',
        '→ assistant "Done."',
    ]


def test_it_is_bounded(world, ask):
    for _ in range(5):
        ask([USER] * 40)
    flow = world.flow.last_steps(2)
    assert str(flow).startswith("… 3 earlier requests\n  4  agent 1  → no answer: ")
    assert [step.number for step in flow.steps] == [4, 5]
    assert world.flow.text.splitlines()[0] == "  1  agent 1  … 28 earlier items"
    assert max(map(len, world.flow.text.splitlines())) < 180


# The diagram


def test_a_diagram_has_the_user_the_lanes_the_api_and_the_tools(world, ask):
    world.script(function_call("deploy", {"ref": "v2"}, call_id="call_1"))
    history = [USER, *ask([USER], instructions=OPS)["output"], output()]
    ask([*history, {**USER, "bogus": 1}], instructions=OPS)
    assert world.flow.mermaid.splitlines() == [
        "sequenceDiagram",
        "  actor P0 as user",
        "  participant P1 as ops",
        "  participant P2 as API",
        "  participant P3 as tools",
        '  P0->>P1: user "Ship v2."',
        "  P1->>P2: 1. POST /responses",
        '  P2-->>P1: function_call deploy {"ref":"v2"} (call_1)',
        '  P1->>P3: function_call deploy {"ref":"v2"} (call_1)',
        '  P3-->>P1: function_call_output call_1 "v2 is live"',
        '  P0->>P1: user "Ship v2."',
        "  P1->>P2: 2. POST /responses",
        "  P2--xP1: refused: 400 Unknown parameter: 'input[3].bogus'.",
    ]


def test_a_diagram_is_data_too(world, ask):
    world.script(message("Done."))
    ask([USER], instructions=OPS)
    ask([{**USER, "bogus": 1}], instructions=OPS)
    drawn = world.flow.sequence
    assert drawn.participants == ("user", "ops", "API")
    assert [(sent.source, sent.target, sent.kind, sent.exchange) for sent in drawn.messages] == [
        (0, 1, "request", 0),
        (1, 2, "request", 1),
        (2, 1, "answer", 0),
        (1, 2, "request", 2),
        (2, 1, "failure", 0),
    ]
    assert drawn.messages[2].text == 'assistant "Done."'
    assert SequenceDiagram.from_json(json.loads(json.dumps(asdict(drawn)))) == drawn


def test_a_list_of_messages_that_was_cut_is_read_without_the_broken_one():
    sent = {"source": 0, "target": 1, "kind": "request", "text": "hi", "exchange": 1}
    drawn = SequenceDiagram.from_json({"participants": ["user", "API"], "messages": [sent, "… 3 more"]})
    assert drawn.messages == (SequenceMessage(**sent),)


def test_a_hand_off_is_an_arrow_from_lane_to_lane(world, ask):
    world.when(instructions="planner").script(function_call("transfer_to_ops", {}, call_id="call_1"))
    world.when(instructions="ops").script(message("Done."))
    said = ask([USER], instructions=PLANNER)["output"]
    ask([USER, *said, output(value="ops")], instructions=OPS)
    assert "  P1->>P3: transfer_to_ops (call_1)" in world.flow.mermaid.splitlines()
    assert "tools" not in world.flow.mermaid


@pytest.mark.parametrize(
    "text", ["a;b#c", "%%{init}%%", "<br/>", "$$x$$", "a\nb\r\tc\u2028d", "&amp;", "\\n", "\x07", "\ud83d"]
)
def test_what_would_end_or_change_a_message_is_written_as_a_number(text):
    step = FlowStep(1, text, [{"role": "user", "content": text}], [], failure=text)
    lines = Flow([step]).mermaid.split("\n")
    assert len(lines) == 7
    assert not re.search(
        r"[;#%<>&$\\\ud800-\udfff\x00-\x1f\u2028]",
        re.sub(r"#\d+;", "", "".join(lines[1:])).replace("->>", "").replace("-->>", ""),
    )


def test_a_lane_that_is_called_like_a_participant_is_one_of_its_own():
    drawn = Flow([FlowStep(1, "user", [USER], []), FlowStep(2, "API", [], [])]).mermaid
    assert re.findall(" as (.*)", drawn) == ["user", "agent user", "API", "agent API"]
