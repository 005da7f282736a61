"""Requests that the API refuses, and parts of answers that a client lost."""

import openai
import pytest

from harness.items import function_call, mcp_call, message, reasoning


@pytest.mark.cause(
    title="Request 2 was refused (400): No tool output found for function call call_",
    fix="Answer every call of the turn before",
    place="from exchange 1 has no output in this request",
)
def test_a_call_is_not_answered(mock, ask, weather):
    mock.script(function_call("get_weather", {"city": "Paris"}), message("Sunny."))
    first = ask(tools=[weather])
    ask("Go on.", previous_response_id=first.id)


@pytest.mark.cause(
    title="Request 1 was refused (400): No tool call found for function call output with call_id call_nowhere.",
    fix="Send the call before its output",
    place="input[0]: function_call_output (call_nowhere) answers an unknown `call_id`",
)
def test_an_output_has_no_call(mock, ask):
    mock.script(message("Sunny."))
    ask([{"type": "function_call_output", "call_id": "call_nowhere", "output": "18"}])


@pytest.mark.cause(
    title="Unknown parameter: 'temprature'. Did you mean 'temperature'?",
    fix="Remove the member",
    place="temprature = 1",
)
def test_a_parameter_is_mistyped(mock, ask):
    mock.script(message("Sunny."))
    ask(extra_body={"temprature": 1})


@pytest.mark.cause(
    title="The requested model 'gpt-4.1-mnii' does not exist.",
    fix="Did you mean 'gpt-4.1-mini'?",
    place='model = "gpt-4.1-mnii"',
)
def test_a_model_is_mistyped(mock, ask):
    mock.script(message("Sunny."))
    ask(model="gpt-4.1-mnii")


@pytest.mark.cause(
    title="Request 1 was refused (400): Invalid value: 'output_text'.",
    fix="Use `input_text` for what a user says.",
    place="input[0].content[0]: output_text in a user message",
)
def test_a_content_type_is_the_other_roles(mock, swallow):
    mock.script(message("Sunny."))
    swallow([{"role": "user", "content": [{"type": "output_text", "text": "Hi."}]}])


@pytest.mark.cause(
    title="Previous response with id 'resp_nowhere' not found.",
    fix="Chain only to responses made with `store: true`",
    place='previous_response_id = "resp_nowhere"',
)
def test_a_previous_response_is_unknown(mock, ask):
    mock.script(message("Sunny."))
    ask(previous_response_id="resp_nowhere")


@pytest.mark.cause(
    title='No request was refused by "tools", which was expected: none of 1 request was refused.',
    place='in test_an_expected_refusal_does_not_come: with mock.refuses("tools"):',
)
def test_an_expected_refusal_does_not_come(mock, ask):
    mock.script(message("Sunny."))
    with mock.refuses("tools"):
        ask()


@pytest.mark.cause(
    title="refuses(3): pass the id of a rule",
    place="in test_an_expected_refusal_is_a_number: with mock.refuses(3):",
)
def test_an_expected_refusal_is_a_number(mock):
    with mock.refuses(3):
        pass


@pytest.mark.cause(
    title='Loss answer-dropped in request 2: message "Sunny." from exchange 1 is missing from the history',
    fix="Append the model's answer to the history",
    place="input[1]",
)
def test_an_answer_is_lost(mock, ask):
    mock.script(message("Sunny."), message("Rainy."))
    ask("Paris?")
    ask([{"role": "user", "content": "Paris?"}, {"role": "user", "content": "London?"}])


@pytest.mark.cause(title="Loss text-altered in request 2:", fix="Collect a text to its end", place="input[1]")
def test_a_text_is_cut(mock, ask):
    mock.script(message("Sunny and warm, with a light wind."), message("Rainy."))
    ask("Paris?")
    said = {"role": "assistant", "content": "Sunny and warm"}
    ask([{"role": "user", "content": "Paris?"}, said, {"role": "user", "content": "London?"}])


@pytest.mark.cause(
    title="A claim that is not asserted is false: 0 calls, not 2",
    fix="Write `assert` before it",
    place="histories.py:",
)
def test_a_claim_is_not_asserted(mock, ask):
    mock.script(message("Sunny."))
    ask()
    mock.calls.times(2)


@pytest.mark.cause(
    title="mcp_call('prod'): the request declares no MCP server of that label, so no model can call it.",
    fix="Declare it in the `tools` of the request",
    place='user "Weather in Paris?"',
)
def test_an_mcp_server_is_not_declared(mock, ask):
    mock.script(mcp_call("prod", "deploy", {}))
    ask()


@pytest.mark.cause(
    title="1 variation tried, 1 kind changes the result",
    place="in test_a_variation_changes_a_result: assert not found.changed, found",
)
def test_a_variation_changes_a_result(mock):
    def scenario(mock):
        mock.script(message("Sunny and warm."))
        events = openai.OpenAI(max_retries=0).responses.create(model="gpt-4.1", input="Hi.", stream=True)
        return [event.delta for event in events if event.type == "response.output_text.delta"]

    found = mock.explore(scenario, "answers/deltas")
    assert not found.changed, found


@pytest.mark.cause(
    title="AssertionError: assert 'Sunny.' == 'Rainy.'",
    place='in test_an_answer_is_another: assert ask().output_text == "Rainy."',
)
def test_an_answer_is_another(mock, ask):
    mock.script([reasoning("**Weather**"), message("Sunny.")])
    assert ask().output_text == "Rainy."
