"""What the browser is shown: the five stories of the manual, sent as the frameworks did, and flows of every kind.

`python -m pytest tests/end_to_end/browser/stories.py --harness-report=report.html` makes the page; most tests in it fail.
"""

import json
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from harness.faults import chunks, cut, pause
from harness.items import file_citation, function_call, mcp_call, message, reasoning
from harness.world.mock import Mock
from tests.support.in_process import user

EVIL = (
    "</script><script>document.title = 'injected'</script><img src=x onerror=\"document.title='injected'\">"
    "<b>bold</b> \u202e\u0007 ${1+1} javascript:alert(1)"
)
EVIL_WORD = '<img/src="x"onerror=alert(1)><b>bold</b>'
"""What a path, a query and a header may be, which have no spaces, or only ASCII."""
DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO"
    "9TXL0Y4OHwAAAABJRU5ErkJggg=="
)
Ask = Callable[..., Any]


def function(name: str, description: str, **properties: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": True}


WEATHER = function("get_weather", "Looks up the weather.", city="string")
DEPLOY = function("deploy", "Puts a version live.", ref="string")
HAND_OVER = function("transfer_to_ops", "Hands over to ops.")
PROD = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}


def output(call: dict[str, Any], text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call["call_id"], "output": text}


@pytest.fixture
def ask(mock: Mock) -> Ask:
    """Posts a request as a client of the test does."""

    def post(input: Any, **members: Any) -> Any:
        headers = {"authorization": f"Bearer {mock.api_key}", "user-agent": "weather-agent/1.0"}
        body = {"model": "gpt-4.1", "input": input, **members}
        return httpx.post(f"{mock.base_url}/responses", json=body, headers=headers, timeout=20)

    return post


def test_citations(mock: Mock, ask: Ask) -> None:
    mock.when(instructions="researcher").script(
        message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt")])
    )
    mock.when(instructions="writer").script(message("Keep it in the fridge."))
    ask("How do I store milk?", instructions="You are the researcher.")
    said = [{"type": "output_text", "text": "Store it cold."}, {"type": "input_file", "file_id": "file-guide"}]
    history = [user("How do I store milk?"), {"role": "assistant", "content": said}, user("Write it down.")]
    ask(history, instructions="You are the writer.")


def test_assistants_citations(mock: Mock, ask: Ask) -> None:
    mock.script(message("Store it cold.【4:0†guide.txt】", annotations=[file_citation("file-guide", "guide.txt")]))
    text = ask("How do I store milk?").json()["output"][0]["content"][0]["text"]
    assert text + text == "Store it cold.【4:0†guide.txt】", "the user sees the text twice"


def test_hermes(mock: Mock, ask: Ask) -> None:
    mock.script("One task is planned.", "It is done.", "Yes.")
    history = [user("Plan the release.")]
    ask(history)
    history = [*history, {"role": "assistant", "content": "One task is planned."}, user("Do it.")]
    ask(history)
    ask([*history, *history, {"role": "assistant", "content": "It is done."}, user("Really?")])


def test_approval_thread(mock: Mock, ask: Ask) -> None:
    mock.script(
        [function_call("get_weather", {"city": "Paris"}), function_call("deploy", {"ref": "v2"})],
        message("v2 is live."),
    )
    weather, deploy = ask("Weather in Paris, then ship v2.", tools=[WEATHER, DEPLOY]).json()["output"]
    history = [user("Weather in Paris, then ship v2."), weather, deploy, output(weather, "18 °C")]
    ask(history, tools=[WEATHER, DEPLOY])


def test_tracker(mock: Mock, ask: Ask) -> None:
    cities = [function_call("get_weather", {"city": city}) for city in ("Paris", "Rome")]
    mock.script(cities, message("Both are warm."))
    first = ask("Weather in Paris and Rome?", tools=[WEATHER]).json()
    ask([output(first["output"][0], "18 °C")], tools=[WEATHER], previous_response_id=first["id"])


def test_call_altered(mock: Mock, ask: Ask) -> None:
    mock.script(function_call("get_weather", {"city": "Paris"}), "18 °C.")
    call = ask([user("Weather in Paris?")], tools=[WEATHER]).json()["output"][0]
    altered = {**call, "arguments": '{"city":"Rome"}'}
    ask([user("Weather in Paris?"), altered, output(call, "18 °C")], tools=[WEATHER], temperature=0.2)


def test_approvals(mock: Mock, ask: Ask) -> None:
    mock.mcp("prod", {"deploy": {"description": "Puts a version live.", "result": lambda ref: f"{ref} is live"}})
    mock.script(
        mcp_call("prod", "deploy", {"ref": "v2"}), "v2 is live.", mcp_call("prod", "deploy", {"ref": "v3"}), "No."
    )
    before = None
    for ref, decision in (("v2", {"approve": True}), ("v3", {"approve": False, "reason": "Not on a Friday."})):
        asked = ask(f"Ship {ref}.", tools=[PROD], previous_response_id=before).json()
        [request] = [item for item in asked["output"] if item["type"] == "mcp_approval_request"]
        answer = {"type": "mcp_approval_response", "approval_request_id": request["id"], **decision}
        before = ask([answer], tools=[PROD], previous_response_id=asked["id"]).json()["id"]


def test_stream(mock: Mock, ask: Ask) -> None:
    text = "The weather in Paris is fine, 18 °C, with some clouds in the evening. " * 4
    mock.script([reasoning("I look it up."), message(text), function_call("get_weather", {"city": "Paris"})], "Done.")
    lines = ask("Weather in Paris?", tools=[WEATHER], stream=True).text.splitlines()
    last = [json.loads(line[6:]) for line in lines if line.startswith("data: ")][-1]["response"]
    ask([output(last["output"][-1], "18 °C")], tools=[WEATHER], stream=True, previous_response_id=last["id"])


def test_stream_cut(mock: Mock, ask: Ask) -> None:
    broken = cut(message("A long answer that breaks off in its middle."), after=6.5)
    mock.script(chunks(pause(broken, seconds=0.02, after=4), size=120))
    with pytest.raises(httpx.HTTPError):
        ask("Tell me a story.", stream=True)


def test_agents(mock: Mock, ask: Ask) -> None:
    mock.when(instructions="the planner").script(function_call("transfer_to_ops", {}))
    mock.when(instructions="are ops").script(function_call("deploy", {"ref": "v2"}), message("v2 is live."))
    history: list[Any] = [user("Ship v2.")]
    for instructions, tool, text in (
        ("You are the planner.", HAND_OVER, "ops takes over"),
        ("You are ops.", DEPLOY, "v2 is live"),
    ):
        [call] = ask(history, instructions=instructions, tools=[tool]).json()["output"]
        history = [*history, call, output(call, text)]
    ask(history, instructions="You are ops.", tools=[DEPLOY])


def test_no_turn(mock: Mock, ask: Ask) -> None:
    mock.when(instructions="planner").script("never")
    ask("Hi", instructions="You are ops.")


def test_refused_place(ask: Ask) -> None:
    picture = {"type": "input_image", "image_url": 17}
    ask([user("Hi"), {"role": "user", "content": [{"type": "input_text", "text": "Look"}, picture]}])


def test_refusal_expected(mock: Mock, ask: Ask) -> None:
    with mock.refuses("call_needs_output"):
        ask([user("Hi"), {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}])


@pytest.mark.parametrize("turns", [12])
def test_long_talk(mock: Mock, ask: Ask, turns: int) -> None:
    mock.script(*[f"Answer {number}: " + "word " * 60 for number in range(turns)])
    history: list[Any] = []
    for number in range(turns):
        history.append(user(f"Question {number}"))
        history += ask(history, instructions="You answer at length.").json()["output"]


def test_picture(mock: Mock, ask: Ask) -> None:
    mock.script("A red dot.")
    parts = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": DOT, "detail": "auto"}]
    ask([{"role": "user", "content": parts}])


@pytest.mark.parametrize("text", [EVIL], ids=[EVIL.encode("ascii", "ignore").decode()])
def test_hostile(mock: Mock, ask: Ask, text: str) -> None:
    mock.script([message(text), function_call("run", {text: text})])
    ask(
        text, instructions=text, metadata={"<b>bold</b>": text[:200]}, tools=[function("run", text, **{text: "string"})]
    )
    headers = {"authorization": f"Bearer {mock.api_key}", "user-agent": EVIL_WORD, "x-note": EVIL_WORD}
    server = HTTPConnection(urlsplit(mock.base_url).netloc, timeout=20)
    server.request("GET", f"/v1/responses/{EVIL_WORD}?include={EVIL_WORD}", headers=headers)  # httpx would quote it
    server.getresponse().read()
    server.close()
    upload = {"file": (f"{EVIL_WORD}.txt", text.encode()), "purpose": (None, "user_data")}
    httpx.post(f"{mock.base_url}/files", files=upload, headers=headers, timeout=20)
    document = {"type": "input_file", "filename": text, "file_data": "data:text/plain;base64,aGk="}
    ask([{"role": "user", "content": [document]}])
    pytest.fail(text)


@pytest.mark.skip(reason="shows a test that was skipped")
def test_skipped(mock: Mock) -> None:
    mock.script("never")
