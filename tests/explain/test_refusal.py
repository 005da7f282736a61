"""Why a request was refused: the API's words, what the client did and what it sent."""

import pytest

from harness.explain.refusal import describe_sent_part, explain_request, refusal_finding, resolve_path
from harness.items import function_call, mcp_call, message, reasoning
from harness.server.mock_api import MockApi
from tests.support import in_process
from tests.support.in_process import KEY, asked, post
from tests.support.tools import functions

USER = {"role": "user", "content": "hi"}
CITED = [{"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}]
SERVER = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}


@pytest.fixture
def mock():
    return MockApi(keys=())


@pytest.fixture
def world(mock):
    return mock.open(KEY, "cause")


TEAM = functions("deploy", "undo", "check")


@pytest.fixture
def ask(mock):
    """Send a request to the mock without a network; the answer is the result."""

    def ask(given, **members):
        answer = post(mock, given) if isinstance(given, bytes) else in_process.ask(mock, given, **members)
        return answer.body

    return ask


def why(world):
    """Place and cause of the newest refusal."""
    return explain_request(world.exchanges[-1], world.exchanges, world.losses).where


def output(call_id="call_1"):
    return {"type": "function_call_output", "call_id": call_id, "output": "up"}


def test_the_first_line_is_the_words_of_the_api(world, ask):
    ask([USER, output()])
    cause = explain_request(world.exchanges[0], world.exchanges, [])
    assert cause.what == (
        "Request 1 was refused (400): No tool call found for function call output with call_id call_1."
    )


def test_a_call_without_output_is_traced_to_the_exchange_that_made_it(world, ask):
    world.script(function_call("deploy", {}, call_id="call_1"))
    first = ask("Ship v2.", tools=TEAM)
    ask("Well?", previous_response_id=first["id"])
    assert why(world) == "input: function_call deploy (call_1) from exchange 1 has no output in this request"
    ask([USER, *first["output"]])
    assert why(world).startswith("input[1]: function_call deploy (call_1) from exchange 1 has no output")


def test_an_output_that_names_the_id_of_its_call_is_said_to(world, ask):
    world.script(function_call("deploy", {}, call_id="call_1"))
    first = ask("Ship v2.", tools=TEAM)
    given, chained = output(first["output"][0]["id"]), first["id"]
    told = (
        "function_call deploy (call_1) from exchange 1 has no output in this request: {} names its `id`, not `call_id`"
    )
    ask([given], previous_response_id=chained)
    assert why(world) == f"input: {told.format('input[0]')}"
    ask([USER, *first["output"], given])
    assert why(world) == f"input[1]: {told.format('input[2]')}"
    assert [lost.loss for lost in world.losses] == []


def test_a_call_or_an_output_too_many_is_named_as_such(world, ask):
    call = {"type": "function_call", "name": "f", "call_id": "call_1", "arguments": "{}"}
    ask([USER, call, call, output()])
    assert why(world) == (
        "input[2]: function_call f (call_1), which no exchange of this test produced, repeats a `call_id` whose only "
        "output is that of an earlier call: send each call once"
    )
    ask([USER, call, output(), output()])
    assert why(world) == (
        "input[3]: function_call_output (call_1) answers `call_1`, which another output answers already: "
        "send each output once"
    )


def test_a_call_that_no_model_made_is_named_as_such(world, ask):
    ask([USER, {"type": "function_call", "name": "f", "call_id": "call_1", "arguments": "{}"}])
    assert why(world) == (
        "input[1]: function_call f (call_1), which no exchange of this test produced, has no output in this request"
    )


def test_an_output_without_call_is_traced_too(world, ask):
    ask([USER, output()])
    assert why(world) == (
        "input[1]: function_call_output (call_1) answers an unknown `call_id`: no exchange of this test produced it"
    )
    world.script(function_call("deploy", {}, call_id="call_1"))
    ask("Ship v2.", tools=TEAM)
    ask([USER, output()])
    [lost] = world.losses
    assert why(world) == f"input[1]: {lost.message} (loss call-dropped)"
    assert explain_request(world.exchanges[-1], world.exchanges, []).where == (
        "input[1]: function_call_output (call_1) answers function_call deploy (call_1) from exchange 2, which this "
        "request omits"
    )


def test_every_call_without_output_is_named_with_its_exchange(world, ask):
    world.script(
        [function_call("deploy", {}, call_id="call_1"), function_call("undo", {}, call_id="call_2")],
        function_call("check", {}, call_id="call_3"),
    )
    first, second = ask("Ship v2.", tools=TEAM), ask("Check it.", tools=TEAM)
    ask([USER, *first["output"], output("call_1"), *second["output"]])
    refused = explain_request(world.exchanges[-1], world.exchanges, world.losses)
    assert refused.where == (
        "input[2], input[4]: 2 calls have no output in this request: function_call undo (call_2) from exchange 1; "
        "function_call check (call_3) from exchange 2"
    )
    two, three = (f'{{"type": "function_call", "call_id": "{id}", … 4 more}}' for id in ("call_2", "call_3"))
    assert refused.sent == f"input = [… 2 entries, {two}, … 1 entry, {three}]"


def test_calls_of_a_response_that_is_continued_are_all_named_too(world, ask):
    world.script([function_call("deploy", {}, call_id="call_1"), function_call("undo", {}, call_id="call_2")])
    ask("Well?", previous_response_id=ask("Ship v2.", tools=TEAM)["id"])
    assert why(world) == (
        "input: 2 calls have no output in this request: function_call deploy (call_1), function_call undo (call_2) "
        "from exchange 1"
    )


def test_every_output_that_nobody_asked_for_is_named(world, ask):
    world.script(function_call("deploy", {}, call_id="call_1"))
    ask([output("call_8"), output("call_1"), output("call_9")], previous_response_id=ask("Ship v2.", tools=TEAM)["id"])
    nobody = "answers an unknown `call_id`: no exchange of this test produced it"
    assert why(world) == (
        f"input[0]: function_call_output (call_8) {nobody}; input[2]: function_call_output (call_9) {nobody}"
    )


def test_an_output_of_the_wrong_kind_is_named_as_such(world, ask):
    world.script(function_call("deploy", {}, call_id="call_1"))
    first = ask("Ship v2.", tools=TEAM)
    custom = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "up"}
    ask([output(), custom], previous_response_id=first["id"])
    assert why(world) == (
        "input[1]: custom_tool_call_output (call_1) answers the function_call with this `call_id`, which takes "
        "another kind of output"
    )


def test_an_approval_that_is_missing_is_named(world, ask):
    world.mcp("prod", {"deploy": "up"})
    world.script(mcp_call("prod", "deploy", {}))
    first = ask("Ship v2.", tools=[SERVER])
    id = first["output"][-1]["id"]
    ask("Well?", tools=[SERVER], previous_response_id=first["id"])
    assert why(world) == (f"input: mcp_approval_request deploy ({id}) from exchange 1 has no answer in this request")


def test_reasoning_that_lost_its_follower_stands_at_its_place(world, ask):
    world.script([reasoning("**Thinking**"), message("Done.")])
    thought, _ = ask(USER["content"], model="gpt-5")["output"]
    ask([USER, thought, USER], model="gpt-5")
    assert explain_request(world.exchanges[-1], world.exchanges, []).where == (
        f"input[1]: reasoning ({thought['id']}) from exchange 1; A stored reasoning item must be followed "
        "directly by the item that followed it: its `id`, or a call's `call_id`."
    )


def test_a_file_in_an_assistant_message_is_traced_to_the_answer(world, ask):
    world.script(message("See the report.", annotations=CITED))
    ask("Report?")
    part = {"type": "output_text", "text": "See the report.", "annotations": []}
    ask([USER, {"role": "assistant", "content": [part, {"type": "input_file", "file_id": "file_1"}]}, USER])
    [lost] = world.losses
    where = (
        'input[1].content[1]: input_file in an assistant message that exchange 1 returned as message "See the report."'
    )
    assert why(world) == f"{where}; {lost.message} (loss citation-dropped)"
    assert explain_request(world.exchanges[-1], world.exchanges, []).where == (
        f"{where}; An assistant message holds `output_text` and `refusal` parts only, or a string."
    )


def test_a_loss_elsewhere_explains_nothing(world, ask):
    world.script(message("See the report.", annotations=CITED))
    [said] = ask("Report?")["output"]
    asked = {**USER, "content": "Report?"}
    ask([asked, {**said, "content": [{**said["content"][0], "annotations": []}]}, {**USER, "bogus": 1}])
    assert [lost.loss for lost in world.losses] == ["citation-dropped"]
    assert why(world).startswith("input[2].bogus: 1 in a user message; ")


@pytest.mark.parametrize(
    ("given", "members", "words"),
    [
        ([{"role": "user"}], {}, "input[0].content: no content in a user message; "),
        ([{"type": "magic"}], {}, "input[0]: magic; "),
        ([5], {}, "input[0] = 5; "),
        (
            [USER, {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}],
            {},
            'input[1].content[0].image_url: "data:image/png;base64,AAAA" in a user message; ',
        ),
        ([USER], {"temperature": "hot"}, 'temperature = "hot"; A value must have the JSON type'),
        ([USER], {"model": None}, "model = null; "),
        (
            [USER],
            {"previous_response_id": "resp_1"},
            'previous_response_id = "resp_1"; `previous_response_id` must name',
        ),
        (b'{"model', {}, '{"model; The body must be JSON.'),
    ],
)
def test_any_other_refusal_shows_its_place_and_its_rule(world, ask, given, members, words):
    ask(given, **members)
    assert world.exchanges[-1].status == 400
    assert why(world).startswith(words)


def test_an_id_of_an_earlier_answer_is_traced_to_it(world, ask):
    world.script(message("One."))
    first = ask("hi", store=False)
    ask("more", previous_response_id=first["id"])
    assert why(world).startswith(f'previous_response_id = "{first["id"]}", the answer of exchange 1; ')


def test_a_refusal_without_a_body_is_explained_by_its_request(world, ask):
    ask([USER, output()])
    [exchange] = world.exchanges
    silent = exchange._replace(answer=exchange.answer._replace(body=None, rule=None))
    cause = explain_request(silent, [silent], [])
    assert cause.what == "Request 1 was refused (400): no reason given"
    assert cause.where.startswith('POST /responses: {"model": "gpt-4.1", "input": [')


@pytest.fixture
def send():
    """Send a body (or bytes) to a mock without a network; the exchange is the result."""
    mock = MockApi(keys=())
    world = mock.open("sk-test", "refusal")

    def send(body):
        post(mock, body, key="sk-test")
        return world.exchanges[-1]

    return send


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"input": "hi"}, 'no model in the body: {"input": "hi"}'),
        (asked([{"role": "user"}]), 'no content in input[0]: {"role": "user"}'),
        (asked("hi", temperature="hot"), 'temperature = "hot"'),
        (b'{"model": ', '{"model": '),
        (b'"hi"', '"hi"'),
        (asked("hi", messages=[]), '{"model": "gpt-4.1", "input": "hi", "messages": []}'),
    ],
)
def test_what_was_sent(send, body, words):
    exchange = send(body)
    assert exchange.status == 400
    assert describe_sent_part(exchange.request, exchange.answer.body["error"]["param"]) == words


@pytest.mark.parametrize(
    ("path", "reached"),
    [
        ("input[1].content[0].text", ("input[1].content[0].text", "x", "")),
        ("input[2].role", ("input", [1, {"content": [{"text": "x"}]}], "[2]")),
        ("input[0].role", ("input[0]", 1, "role")),
        ("tools", ("", {"input": [1, {"content": [{"text": "x"}]}]}, "tools")),
        ("", ("", {"input": [1, {"content": [{"text": "x"}]}]}, "")),
    ],
)
def test_a_path_leads_as_far_as_it_can(path, reached):
    assert resolve_path({"input": [1, {"content": [{"text": "x"}]}]}, path) == reached


def test_the_fix_for_another_api_is_the_route_that_answers_it(world, ask):
    ask("x", path="/v1/embeddings")
    (exchange,) = world.exchanges
    fix = refusal_finding(exchange, [exchange], [], world.world, False, False).fix
    assert fix.startswith('Answer it with mock.route("POST", "/embeddings", {…}), in a script file `route:`, or give')
