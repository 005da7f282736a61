"""Scripts that say nothing a model could answer."""

import pytest

from harness.items import function_call, message, refusal


@pytest.mark.cause(
    title="the request declares no function of that name, so no model can call it. Did you mean 'get_weather'?",
    fix="Declare it in the `tools` of the request",
    place='user "Weather in Paris?"',
)
def test_a_tool_is_mistyped(mock, ask, weather):
    mock.script(function_call("get_wether", {"city": "Paris"}))
    ask(tools=[weather])


@pytest.mark.cause(
    title="a turn raised KeyError: 'city'",
    fix="Correct that line, or what it expects of the request.",
    place='in model: return message(request.body["city"])',
)
def test_a_turn_raises(mock, ask):
    def model(request):
        return message(request.body["city"])

    mock.script(model)
    ask()


@pytest.mark.cause(
    title="No turn answers this request. The closest is when(instructions='planner')",
    fix="Loosen that condition",
    place="+ instructions was:    'You are ops.'",
)
def test_no_route_matches(mock, ask):
    mock.when(instructions="planner").script(message("A plan."))
    ask(instructions="You are ops.")


@pytest.mark.cause(
    title="'It is sunny.' is not what text.format (city) asks for",
    fix="script a text that does",
    place='user "Weather in Paris?"',
)
def test_a_text_violates_its_schema(mock, ask, weather):
    mock.script(message("It is sunny."))
    ask(text={"format": {"type": "json_schema", "name": "city", "schema": weather["parameters"], "strict": True}})


@pytest.mark.cause(
    title="break the tool's schema, which is strict: it has no member 'town'. Known: city.",
    fix="correct the arguments",
    place='user "Weather in Paris?"',
)
def test_an_argument_is_missing(mock, ask, weather):
    mock.script(function_call("get_weather", {"town": "Paris"}))
    ask(tools=[weather])


@pytest.mark.cause(
    title="script: [] is an empty turn. Pass an item; for a response without output use empty()",
    place="in test_a_turn_is_empty: mock.script([])",
)
def test_a_turn_is_empty(mock, ask):
    mock.script([])
    ask()


@pytest.mark.cause(
    title="is async, so not a turn. Pass a plain function or generator.",
    place="in test_a_turn_is_async: mock.script(model)",
)
def test_a_turn_is_async(mock, ask):
    async def model(request):
        return "Hi."

    mock.script(model)
    ask()


@pytest.mark.cause(
    title="no argument 'instuctions'. Did you mean 'instructions'?",
    place="in test_a_condition_is_mistyped",
)
def test_a_condition_is_mistyped(mock, ask):
    mock.when(instuctions="planner").script(message("A plan."))
    ask()


@pytest.mark.cause(
    title="script: 42 is not a turn. Pass an item",
    place="in test_a_turn_is_a_number: mock.script(42)",
)
def test_a_turn_is_a_number(mock, ask):
    mock.script(42)
    ask()


@pytest.mark.cause(
    title="Pass the arguments of the call as one dict: {'city': …}.",
    place="in test_a_builder",
)
def test_a_builder_takes_no_such_keyword(mock, ask):
    mock.script(function_call("get_weather", city="Paris"))
    ask()


@pytest.mark.cause(
    title="1 turn of the script was never used.",
    fix="Remove the turns that are not needed",
    place='message "Again."',
)
def test_a_turn_is_left(mock, ask):
    mock.script(message("Sunny."), message("Again."))
    ask()


@pytest.mark.cause(
    title="Request 2, POST /responses, could not be answered: No turn is left for this request",
    fix="Add one: mock.script(message('…')).",
    place='user "Weather in Paris?"',
)
def test_a_script_is_over(mock, ask):
    mock.script(message("Sunny."))
    ask()
    ask()


@pytest.mark.cause(
    title="file_search_call is not valid output of the API: Missing member: 'queries'.",
    place="in test_an_item_is_no_output: mock.script(",
)
def test_an_item_is_no_output(mock, ask):
    mock.script({"type": "file_search_call", "results": 3})
    ask()


@pytest.mark.cause(
    title="no key 'routes', which is Python's. Did you mean 'when'?",
    place="in test_a_yaml_script_has_routes: load_script_file(file)",
)
def test_a_yaml_script_has_routes(tmp_path, mock, ask):
    from harness.world.scripting.load import load_script_file

    file = tmp_path / "agent.yaml"
    file.write_text("routes:\n  - when: {instructions: planner}\n    script: [A plan.]\n")
    load_script_file(file).apply(mock)
    ask()


@pytest.mark.cause(
    title="type is 'refusal', which is content of a message. An item's type is one of",
    place="in test_a_part_is_no_item: mock.script(refusal(",
)
def test_a_part_is_no_item(mock, ask):
    mock.script(refusal("I cannot help with that."))
    ask()
