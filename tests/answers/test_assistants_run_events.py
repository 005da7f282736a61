"""The stream of a run, event by event, and where its citations travel."""

from typing import Any

import pytest

from harness.items import (
    code_interpreter_call,
    container_file_citation,
    file_citation,
    file_path,
    file_search_call,
    message,
    reasoning,
    refusal,
    url_citation,
)
from tests.support.in_process import Client
from tests.support.threads import END, FUNCTION, SAID, START, STEP, Desk, data, names, path, text, wire


@pytest.fixture
def desk() -> Desk:
    tools = [FUNCTION, {"type": "code_interpreter"}, {"type": "file_search"}]
    return Desk(name="Ann", instructions="Be brief.", tools=tools)


def deltas(events: list[Any]) -> list[Any]:
    return [entry["delta"]["content"][0]["text"] for entry in data(events, "thread.message.delta")]


def whole_text(events: list[Any]) -> Any:
    return text(data(events, "thread.message.completed")[0])


class TestAStream:
    def test_a_stream_tells_a_text_run_event_by_event(self, desk: Desk) -> None:
        events = desk.stream(message(["Hel", "lo."]))
        assert names(events) == [*START, *SAID, *END]
        assert deltas(events) == [{"value": "Hel", "annotations": []}, {"value": "lo."}]
        assert whole_text(events) == {"value": "Hello.", "annotations": []}
        assert wire(events).startswith('event: thread.run.created\ndata: {"id":"run_')
        assert wire(events).endswith("}\n\nevent: done\ndata: [DONE]\n\n")

    def test_a_stream_begins_with_the_thread_when_it_makes_one(self, desk: Desk) -> None:
        body = {"assistant_id": desk.assistant, "thread": {"messages": [{"role": "user", "content": "hi"}]}}
        told = list(desk.send("POST /threads/runs", {**body, "stream": True}).events or ())
        assert names(told) == ["thread.created", *START, *SAID, *END]
        assert told[0]["data"]["tool_resources"] == {"code_interpreter": {"file_ids": []}}
        assert len(desk.messages(told[0]["data"]["id"])) == 2

    def test_a_run_leaves_behind_what_its_events_showed(self, desk: Desk) -> None:
        events = desk.stream(message("Hello."))
        run = data(events, "thread.run.completed")[0]
        assert desk.read(run) == run
        assert (run["status"], run["expires_at"]) == ("completed", None)
        assert run["usage"]["total_tokens"] == run["usage"]["prompt_tokens"] + run["usage"]["completion_tokens"] > 0
        assert desk.messages(run["thread_id"])[0] == data(events, "thread.message.completed")[0]
        (step,) = data(events, "thread.run.step.completed")
        assert desk.steps(run) == [{**step, "expires_at": None}]
        assert step["usage"] == run["usage"]

    def test_a_stream_tells_a_refusal(self, desk: Desk) -> None:
        events = desk.stream(message(refusal(["I can", "not."])))
        told = [entry["delta"]["content"][0] for entry in data(events, "thread.message.delta")]
        assert [entry["refusal"] for entry in told] == ["I can", "not."]
        assert data(events, "thread.message.completed")[0]["content"] == [{"type": "refusal", "refusal": "I cannot."}]

    def test_a_stream_tells_code_and_what_it_printed(self, desk: Desk) -> None:
        outputs = ["5", {"type": "image", "url": "https://a.example/plot.png"}]
        code = code_interpreter_call(["print", "(5)"], outputs=outputs)
        events = desk.stream(reasoning("**Plan**"), code, message("5"))
        delta = "thread.run.step.delta"
        assert names(events) == [*START, *STEP, delta, "thread.run.step.completed", *SAID, *END]
        told = [entry["delta"]["step_details"]["tool_calls"][0] for entry in data(events, delta)]
        assert told[0]["code_interpreter"] == {"input": "", "outputs": []}
        assert ["id" in entry for entry in told] == [True, False, False, False, False]
        assert [entry["code_interpreter"].get("input") for entry in told[1:3]] == ["print", "(5)"]
        (call,) = data(events, "thread.run.step.completed")[0]["step_details"]["tool_calls"]
        assert call["code_interpreter"]["input"] == "print(5)"
        logs, image = call["code_interpreter"]["outputs"]
        assert (logs, image["type"]) == ({"type": "logs", "logs": "5"}, "image")

    @pytest.mark.parametrize("asked", [True, False])
    def test_a_stream_tells_what_a_search_found_when_it_is_asked_for(self, desk: Desk, asked: bool) -> None:
        result = {"attributes": {}, "file_id": "file-1", "filename": "a.txt", "score": 0.5, "text": "Cake."}
        content = "step_details.tool_calls[*].file_search.results[*].content"
        query: dict[str, Any] = {"include": [content]} if asked else {}
        desk.mock.script([file_search_call("food", results=[result]), message("Cake.")])
        body = {"assistant_id": desk.assistant, "stream": True}
        events = list(desk.send(f"POST /threads/{desk.thread('hi')}/runs", body, **query).events or ())
        (call,) = data(events, "thread.run.step.completed")[0]["step_details"]["tool_calls"]
        (found,) = call["file_search"]["results"]
        assert found["file_name"] == "a.txt"
        assert found.get("content") == ([{"type": "text", "text": "Cake."}] if asked else None)
        run = events[0]["data"]
        step = desk.steps(run, **query)[1]
        assert step["step_details"]["tool_calls"] == [call]
        assert desk.send(f"GET {path(run)}/steps/{step['id']}", **query).body == step


class TestACitation:
    def test_a_citation_is_one_delta_with_its_marker_and_is_repeated_at_the_end(self, desk: Desk) -> None:
        marker = "【4:0†source】"
        cited = file_citation("file-1", "a.txt", cite=marker)
        events = desk.stream(message(["Store", f" cold{marker}", "."], annotations=[cited]))
        at = {"type": "file_citation", "text": marker, "start_index": 10, "end_index": 22}
        assert deltas(events) == [
            {"value": "Store", "annotations": []},
            {"value": " cold"},
            {"value": marker, "annotations": [{"index": 0, **at, "file_citation": {"file_id": "file-1", "quote": ""}}]},
            {"value": "."},
        ]
        whole = whole_text(events)
        assert whole["value"] == f"Store cold{marker}."
        assert whole["annotations"] == [{**at, "file_citation": {"file_id": "file-1"}}]

    def test_a_citation_has_its_quote_in_the_thread_alone(self, desk: Desk) -> None:
        quoted = file_citation("file-1", "a.txt", quote="Keep it cold.")
        written = {"type": "file_citation", "file_id": "file-2", "filename": "b.txt", "quote": "Not warm."}
        events = desk.stream(message("Cold", annotations=[quoted, written, file_citation("file-3", "c.txt")]))
        shown = whole_text(events)["annotations"]
        assert [note["file_citation"] for note in shown] == [
            {"file_id": "file-1", "quote": "Keep it cold."},
            {"file_id": "file-2", "quote": "Not warm."},
            {"file_id": "file-3"},
        ]
        noted = [note for delta in deltas(events) for note in delta.get("annotations", ())]
        assert [note["file_citation"]["quote"] for note in noted] == ["Keep it cold.", "Not warm.", ""]
        (stored,) = desk.messages(events[0]["data"]["thread_id"])[:1]
        assert text(stored)["annotations"] == shown
        client = Client()
        client.mock.script(message("Cold", annotations=[quoted]))
        answer = client.ask(stream=True)
        assert "quote" not in str(answer.events)
        assert "Keep it cold" not in str(answer.body)

    def test_a_citation_gets_a_marker_with_the_name_of_the_file_where_the_text_has_none(self, desk: Desk) -> None:
        notes = [file_citation("file-2", "b.txt"), file_citation("file-1", "a.txt", cite="One")]
        whole = whole_text(desk.stream(message("One, two", annotations=notes)))
        assert whole["value"] == "One【4:1†a.txt】, two【4:0†b.txt】"
        for note in whole["annotations"]:
            assert whole["value"][note["start_index"] : note["end_index"]] == note["text"]

    @pytest.mark.parametrize(
        ("where", "in_deltas", "at_the_end"), [("both", 1, 1), ("delta", 1, 0), ("completed", 0, 1)]
    )
    def test_travels_where_the_world_says(self, desk: Desk, where: Any, in_deltas: int, at_the_end: int) -> None:
        desk.mock.citations = where
        events = desk.stream(message("Cold", annotations=[file_citation("file-1", "a.txt")]))
        assert sum(len(delta.get("annotations", ())) for delta in deltas(events)) == in_deltas
        whole = whole_text(events)
        assert (whole["value"], len(whole["annotations"])) == ("Cold【4:0†a.txt】", at_the_end)

    def test_a_citation_may_point_at_a_file_that_code_wrote_or_a_page(self, desk: Desk) -> None:
        said = "See [x](sandbox:/mnt/data/x.csv), the plot, the page"
        notes = [
            file_path("file-1", cite="sandbox:/mnt/data/x.csv"),
            container_file_citation("cntr_1", "cfile_1", "p.png", cite="the plot"),
            url_citation("https://a.example", "A", cite="the page"),
            file_path("file-2"),
        ]
        whole = whole_text(desk.stream(message(said, annotations=notes)))
        assert whole["value"] == f"{said}sandbox:/mnt/data/file-2"
        kinds = [(note["type"], note["text"]) for note in whole["annotations"]]
        assert kinds == [
            ("file_path", "sandbox:/mnt/data/x.csv"),
            ("file_path", "the plot"),
            ("url_citation", "the page"),
            ("file_path", "sandbox:/mnt/data/file-2"),
        ]

    def test_a_citation_may_overlap_another(self, desk: Desk) -> None:
        notes = [url_citation("https://a.example", "A", 0, 7), url_citation("https://b.example", "B", 4, 7)]
        events = desk.stream(message("One two", annotations=notes))
        whole = whole_text(events)
        assert whole["value"] == "".join(delta["value"] for delta in deltas(events)) == "One two"
        assert [note["text"] for note in whole["annotations"]] == ["One two", "two"]
