"""`surfaced`: what a client lost, doubled, cut or changed of what was said, and what it may do with it."""

import asyncio
from copy import deepcopy
from types import SimpleNamespace
from typing import Any, ClassVar

import pydantic
import pytest

from harness import surfaced
from harness.analysis.result_readers import READERS, Surface, find_registered, read, register_reader, to_plain_json
from harness.core.errors import ConfigError, RegistrationError
from harness.core.exchange import Json
from harness.core.replies import ModelReply
from harness.items import (
    container_file_citation,
    file_citation,
    file_path,
    function_call,
    mcp_approval_request,
    message,
    reasoning,
    refusal,
    shell_call,
    url_citation,
)
from tests.support.in_process import Client, user
from tests.support.threads import Desk
from tests.support.tools import functions, tools_for

TEXT = "See the report, all of it."
NOTES = [
    file_citation("file-1", "report.pdf", 5),
    url_citation("https://e.org", "E", 0, 3),
    container_file_citation("cntr_1", "cfile_1", "plot.png", 4, 7),
    file_path("file-2", 4),
]
CITED: list[Json] = [
    {"type": "file_citation", "file_id": "file-1", "filename": "report.pdf", "index": 5},
    {"type": "url_citation", "url": "https://e.org", "title": "E", "start_index": 0, "end_index": 3},
    {"kind": "citation", "container": {"id": "cntr_1", "file_id": "cfile_1"}},
    {"id": "file-2"},
]
CALL = {"name": "deploy", "arguments": {"ref": "v2"}}


def said(*turns: Any) -> Client:
    """Return a World in which these turns were said, each to a request of its own."""
    client = Client()
    client.mock.script(*turns)
    for turn in turns:
        client.ask(tools=tools_for(turn))
    return client


def run(*turns: Any) -> Client:
    """Return a World in which these turns are one run: each request answers the calls of the turn before."""
    client = Client()
    client.mock.script(*turns)
    asked: Json = {"input": "hi"}
    for turn in turns:
        body = client.ask(**asked, tools=tools_for(turn)).body
        calls = [item["call_id"] for item in body["output"] if item["type"] == "function_call"]
        outputs = [{"type": "function_call_output", "call_id": id, "output": "1"} for id in calls]
        asked = {"input": outputs, "previous_response_id": body["id"]}
    return client


def fault(result: Any, client: Client, **options: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        surfaced(result, client.mock.replies, **options)
    return str(raised.value)


def output_part(text: str, annotations: list[Json]) -> Json:
    return {"type": "output_text", "text": text, "annotations": annotations}


class TestAText:
    CLIENT = said(message(TEXT))

    @pytest.mark.parametrize("shown", [TEXT, f" {TEXT}\n"])
    def test_a_text_equals_the_reply(self, shown: str) -> None:
        surfaced(shown, self.CLIENT.mock.replies)

    @pytest.mark.parametrize(
        ("shown", "why"),
        [
            ("", 'text lost: "See the report, all of it." is not in the result'),
            ("Sorry.", 'text lost: "See the report, all of it." is not in the result, which is "Sorry."'),
            (TEXT * 2, 'text doubled: "See the report, all of it." is 2 times in the result: "See the report, all'),
            (f"{TEXT}\n{TEXT}", 'text doubled: "See the report, all of it." is 2 times in the result'),
            ("See the re", "text truncated: the result has the first 10 of 26 characters of"),
            ("all of it.", "text truncated: the result has the last 10 of 26 characters of"),
            (f"{TEXT} Bye.", 'text changed: the result has more than "See the report, all of it.": "See the'),
            (
                "See the  report, all of it.",
                'text changed at character 8: the model said "report, all of it.", the result',
            ),
            ("See thereport, all of it.", "text changed at character 7"),
            (
                "See the report, none of it.",
                'text changed at character 16: the model said "all of it.", the result has "n',
            ),
        ],
    )
    def test_a_text_is_reported_by_how_it_differs(self, shown: str, why: str) -> None:
        assert fault(shown, self.CLIENT).startswith(why)

    @pytest.mark.parametrize("shown", ["One.", "Two.", "One.Two.", "One.\n\nTwo.", "Two. One."])
    def test_a_text_may_be_that_of_any_run_which_no_call_continued(self, shown: str) -> None:
        surfaced(shown, said(message("One."), message("Two.")).mock.replies)

    def test_a_text_of_a_run_ends_with_its_last(self) -> None:
        client = run([message("Let me look."), function_call("f", {})], message("Found."))
        for shown in ("Found.", "Let me look.Found.", "Let me look.\nFound."):
            surfaced(shown, client.mock.replies)
        assert fault("Let me look.", client).startswith('text lost: "Found." is not in the result, which is "Let me')

    def test_a_text_of_several_messages_ends_with_the_last_of_them(self) -> None:
        client = said([message("Thinking aloud.", phase="commentary"), message("Done.", phase="final_answer")])
        surfaced("Done.", client.mock.replies)
        assert fault("Thinking aloud.", client).startswith('text lost: "Done."')

    def test_a_text_may_be_empty_where_the_reply_is_only_calls(self) -> None:
        client = said(message("Before."), function_call("f", {}))
        surfaced("", client.mock.replies)

    def test_a_text_may_leave_out_a_refusal_beside_words(self) -> None:
        client = said(message("Words.", refusal("But no.")))
        surfaced("Words.", client.mock.replies)
        surfaced("Words. But no.", client.mock.replies)
        assert fault("", said(message(refusal("No.")))).startswith('text lost: "No."')

    def test_a_text_with_the_pieces_of_a_stream_is_their_sum(self) -> None:
        surfaced(["See the", " report, all", " of it."], self.CLIENT.mock.replies)
        assert fault(["See ", "See ", TEXT[4:]], self.CLIENT).startswith("text changed")
        assert fault([], self.CLIENT).startswith("text lost")

    def test_a_text_of_many_messages_is_still_compared(self) -> None:
        client = said(*(message(f"Number {number}.") for number in range(60)))
        surfaced("".join(client.mock.replies.texts), client.mock.replies)

    def test_a_text_of_messages_that_could_be_cut_in_many_ways_is_given_up(self) -> None:
        client = said(*(message("a") for _ in range(24)))
        assert "text" in fault("a" * 24 + "b", client)


class TestAnnotations:
    CLIENT = said(message(TEXT, annotations=NOTES))

    def test_annotations_are_found_whatever_their_members_are_called(self) -> None:
        surfaced({"text": TEXT, "annotations": CITED}, self.CLIENT.mock.replies)

    def test_annotations_that_are_missing_are_named(self) -> None:
        told = fault({"text": TEXT, "annotations": []}, said(message(TEXT, annotations=NOTES[:1])))
        assert (
            told == f'annotations lost: 1 of 1 file_citation (report.pdf) of the message "{TEXT}" are not in the result'
        )
        assert fault({"annotations": CITED[1:2]}, self.CLIENT).startswith(
            "annotations lost: 3 of 4 annotations (file_citation report.pdf, container_file_citation plot.png, "
            "file_path file-2) of the message"
        )

    def test_annotations_are_not_expected_of_what_cannot_express_them(self) -> None:
        surfaced(TEXT, self.CLIENT.mock.replies)
        surfaced({"annotations": CITED[:2], "kinds": ["file_citation", "url_citation"]}, self.CLIENT.mock.replies)

    def test_annotations_are_found_by_the_name_of_the_file_where_no_id_is_shown(self) -> None:
        client = said(message(TEXT, annotations=NOTES[:1]))
        surfaced({"annotations": [{"title": "report.pdf"}]}, client.mock.replies)
        assert "lost" in fault({"annotations": [{"title": "report.pdf", "file_id": "file-9"}]}, client)

    def test_annotations_of_a_thread_have_the_quote_of_the_reply(self) -> None:
        cited = {"type": "file_citation", "file_citation": {"file_id": "file-1", "quote": "Store it cold."}}
        reply = ModelReply("run_1", 1, [{"type": "message", "content": [output_part(TEXT, [cited])]}])
        for shown in (cited, {"file_id": "file-1"}, {"file": "file-1", "quote": " Store it\ncold. "}, {"id": "file-1"}):
            surfaced({"annotations": [shown]}, reply)
        for wrong, words in (
            ({"file_id": "file-1"}, '; the quote "Store it cold." of file-1 is gone'),
            ({"file_id": "file-1", "quote": ""}, '; the quote "Store it cold." of file-1 is gone'),
            ({"file_id": "file-1", "quote": "Store it."}, '; the quote "Store it cold." of file-1 is "Store it."'),
            ({"file_id": "file-2", "quote": "Store it cold."}, ""),
        ):
            with pytest.raises(AssertionError) as raised:
                surfaced({"annotations": [{"type": "file_citation", "file_citation": wrong}]}, reply)
            told = 'annotations lost: 1 of 1 file_citation (file-1) of the message "See the report, all of it." are not'
            assert str(raised.value) == f"{told} in the result{words}"
        with pytest.raises(AssertionError, match=r'the quote "Store it cold\." of \S+ is "Warm\."'):
            surfaced({"annotations": [{"file": "file-1", "quote": "Warm."}]}, reply)

    def test_annotations_without_a_quote_may_be_shown_with_an_empty_one(self) -> None:
        cited = {"type": "file_citation", "file_citation": {"file_id": "file-1", "quote": ""}}
        reply = ModelReply("run_1", 1, [{"type": "message", "content": [output_part(TEXT, [cited])]}])
        for shown in (cited, {"type": "file_citation", "file_citation": {"file_id": "file-1"}}, {"file": "file-1"}):
            surfaced({"annotations": [shown]}, reply)

    def test_annotations_more_than_once_are_doubled(self) -> None:
        shown = {"text": TEXT, "annotations": [*CITED, CITED[0]]}
        assert fault(shown, self.CLIENT) == (
            "annotations doubled: file_citation report.pdf has an extra copy in the result"
        )

    def test_annotations_of_earlier_messages_and_of_the_client_itself_may_be_there(self) -> None:
        client = said(message("One.", annotations=[url_citation("https://one.org", "1")]), message("Two."))
        own = {"url": "https://own.org"}
        surfaced({"text": "Two.", "annotations": [{"url": "https://one.org"}, own]}, client.mock.replies)

    def test_annotations_of_a_text_that_differs_are_those_of_the_last_answer(self) -> None:
        lines = fault({"text": "See", "annotations": []}, self.CLIENT).splitlines()
        assert [line.split(":")[0] for line in lines] == ["text truncated", "annotations lost"]

    def test_mark_the_same_words(self) -> None:
        cited = message(TEXT, annotations=[url_citation("u", "E", 0, 3)])
        client = run([message("Let me look."), function_call("f", {})], cited)
        for start, text in ((0, TEXT), (12, f"Let me look.{TEXT}")):
            place = {"start_index": start, "end_index": start + 3}
            surfaced({"text": text, "annotations": [{"url": "u", "regions": [place]}]}, client.mock.replies)
        wrong = {"url": "u", "start_index": 4, "end_index": 7}
        assert "lost: 1 of 1 url_citation (u)" in fault({"text": TEXT, "annotations": [wrong]}, client)


class TestCalls:
    CLIENT = run([message("Now."), function_call("deploy", {"ref": "v2"}), function_call("f", {})], message("Done."))

    def test_calls_of_a_run_are_all_there_or_none(self) -> None:
        for calls in ([], [CALL, {"name": "f", "arguments": "{}"}]):
            surfaced({"text": "Done.", "calls": calls}, self.CLIENT.mock.replies)

    def test_calls_that_are_missing_are_named(self) -> None:
        assert fault({"text": "Done.", "calls": [CALL]}, self.CLIENT) == "call f({}) not in the result"
        shown = {"calls": [{"name": "deploy", "arguments": '{"ref": "v3"}'}]}
        assert fault(shown, said(function_call("deploy", {"ref": "v2"}))) == (
            'call deploy({"ref":"v2"}) not in the result; it has deploy({"ref":"v3"})'
        )

    def test_calls_shown_more_often_than_made_are_doubled(self) -> None:
        client = said(function_call("deploy", {"ref": "v2"}))
        assert (
            fault({"calls": [CALL, CALL]}, client) == 'call deploy({"ref":"v2"}) doubled: it is in the result 2 times'
        )

    def test_calls_with_arguments_that_are_no_json_are_compared_as_texts(self) -> None:
        client = said(function_call("f", "{oops"))
        surfaced({"calls": [{"name": "f", "arguments": "{oops"}]}, client.mock.replies)

    def test_calls_without_a_name_are_not_expected(self) -> None:
        client = Client()
        client.mock.script(turn := shell_call(["ls"]))
        client.ask(model="gpt-5.4", tools=tools_for(turn))
        surfaced({"calls": []}, client.mock.replies)

    def test_calls_that_ask_for_leave_are_calls(self) -> None:
        client = said(mcp_approval_request("prod", "deploy", {"ref": "v2"}))
        surfaced({"calls": [CALL]}, client.mock.replies)
        assert "not in the result" in fault({"calls": []}, client)


class TestReasoning:
    CLIENT = run([reasoning("**One**"), function_call("f", {})], [reasoning("**Two**"), message("Done.")])

    @pytest.mark.parametrize("shown", ["**Two**", "**One****Two**", "**One**\n**Two**", None])
    def test_reasoning_is_that_of_the_last_response_or_of_more(self, shown: str | None) -> None:
        surfaced({"text": "Done.", "reasoning": shown}, self.CLIENT.mock.replies)

    @pytest.mark.parametrize(
        ("shown", "why"),
        [("", 'reasoning lost: "**Two**" is not in the result'), ("**Two**" * 2, "reasoning doubled")],
    )
    def test_reasoning_is_reported_by_how_it_differs(self, shown: str, why: str) -> None:
        assert fault({"text": "Done.", "reasoning": shown}, self.CLIENT).startswith(why)

    def test_reasoning_is_not_expected_where_the_reply_has_none(self) -> None:
        surfaced({"text": "Done.", "reasoning": ""}, said(message("Done.")).mock.replies)


class TestUsage:
    CLIENT = run(function_call("f", {}), message("Done."))

    @pytest.mark.parametrize("form", [("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens")])
    def test_usage_is_that_of_the_last_response_or_the_sum(self, form: tuple[str, str]) -> None:
        said = self.CLIENT.mock.replies
        for usage in (said[-1].usage, said.usage):
            shown = {form[0]: usage["input_tokens"], form[1]: usage["output_tokens"]}
            surfaced({"usage": shown}, said)

    def test_usage_that_is_neither_is_changed(self) -> None:
        assert fault({"usage": {"total_tokens": 7777}}, self.CLIENT).startswith(
            "usage changed: the result has {'total_tokens': 7777}, the response {'input_tokens': "
        )
        assert fault({"usage": {"total_tokens": 0}}, self.CLIENT).startswith("usage lost: ")
        assert fault({"usage": {}}, self.CLIENT).startswith("usage lost: the result has none")


class TestOnly:
    CLIENT = said(message(TEXT, annotations=NOTES))

    def test_compares_no_other_part(self) -> None:
        surfaced({"text": TEXT, "annotations": []}, self.CLIENT.mock.replies, only={"text"})
        surfaced({"text": "Sorry.", "annotations": CITED}, self.CLIENT.mock.replies, only="annotations")

    def test_demands_the_part(self) -> None:
        assert fault(TEXT, self.CLIENT, only=["text", "annotations"]) == (
            "annotations not in the result: a str cannot express it"
        )

    @pytest.mark.parametrize("only", [["words"], "words", 7])
    def test_names_parts(self, only: Any) -> None:
        with pytest.raises(ConfigError, match=r"use some of text, annotations, calls, reasoning, usage\."):
            surfaced(TEXT, self.CLIENT.mock.replies, only=only)


class TestWhatWasSaid:
    def test_what_was_said_may_be_one_response_of_many(self) -> None:
        client = said(message("One."), message("Two."))
        surfaced("One.", client.mock.replies[0])
        surfaced("Two.", client.mock.replies[1:])
        with pytest.raises(AssertionError, match="text lost"):
            surfaced("One.", client.mock.replies[1])

    @pytest.mark.parametrize("nothing", [(), ["One."]])
    def test_a_comparison_without_a_reply_is_refused(self, nothing: Any) -> None:
        with pytest.raises(ConfigError, match="no replies"):
            surfaced("One.", nothing)


class TestTheApisOwnJson:
    def test_the_apis_own_json_names_the_response_it_is_compared_with(self) -> None:
        client = said(message("One."), message("Two."))
        one = deepcopy(client.world.exchanges[0].answer.body)
        surfaced(one, client.mock.replies)
        one["output"][0]["content"][0]["text"] = "Two."
        assert fault(one, client).startswith('text lost: "One."')

    def test_the_apis_own_json_of_several_responses_shows_all_of_them(self) -> None:
        client = said(message("One."), message("Two."))
        surfaced([exchange.answer.body for exchange in client.world.exchanges], client.mock.replies)

    def test_the_apis_own_json_of_items_shows_what_they_say(self) -> None:
        client = said([reasoning("**One**"), message(TEXT, annotations=NOTES), function_call("f", {})])
        output = client.world.exchanges[0].answer.body["output"]
        surfaced(output, client.mock.replies, only=["text", "annotations", "calls", "reasoning"])
        assert "call f({}) not in the result" in fault(output[:2], client)

    def test_the_apis_own_json_of_a_stream_of_events_is_what_they_add_up_to(self) -> None:
        client = Client()
        client.tools = functions("f")
        client.mock.script([reasoning("**One**"), message(TEXT, annotations=NOTES), function_call("f", {})])
        events = list(client.ask(stream=True).events or ())
        surfaced(events, client.mock.replies, only=["text", "annotations", "calls", "reasoning", "usage"])
        without = [event for event in events if not event["type"].endswith("annotation.added")]
        surfaced(without, client.mock.replies)
        deltas = [event for event in events if event["type"] == "response.output_text.delta"]
        assert fault([*deltas, *deltas[-1:]], client).startswith("text changed: the result has more than")
        assert fault([event for event in events if "delta" not in event["type"]][:2], client).startswith("text lost")

    def test_the_apis_own_json_of_the_messages_of_a_thread(self) -> None:
        desk = Desk(name="Ann")
        cited = message("See the report", annotations=[file_citation("file-1", "report.pdf")])
        events = desk.stream(cited, message("x"))
        listed = desk.send(f"GET /threads/{events[0]['data']['thread_id']}/messages").body
        first = listed["data"][1]
        for shown in (events[:-1], listed, first, desk.mock.replies[0].text):
            surfaced(shown, desk.mock.replies)
        first["content"][0]["text"]["annotations"] = []
        with pytest.raises(AssertionError, match=r"annotations lost: 1 of 1 file_citation \(file-1\) of the message"):
            surfaced(first, desk.mock.replies)
        doubled = [event for event in events[:-1] for _ in range(1 + (event["event"] == "thread.message.delta"))]
        with pytest.raises(AssertionError, match="text"):
            surfaced(doubled, desk.mock.replies)

    def test_the_apis_own_json_of_a_refusal_in_a_thread(self) -> None:
        desk = Desk(name="Ann")
        events = desk.stream(message(refusal("I cannot.")))
        surfaced(desk.messages(events[0]["data"]["thread_id"]), desk.mock.replies)
        ended = [event for event in events[:-1] if event["event"] != "thread.message.delta"]
        surfaced(ended, desk.mock.replies)

    def test_the_apis_own_json_of_a_chat_completion(self) -> None:
        client = said([reasoning("**One**"), message("Hi.", annotations=NOTES[1:2]), function_call("f", {})])
        usage = client.mock.replies[0].usage
        shown: Json = {
            "content": "Hi.",
            "reasoning_content": "**One**",
            "annotations": [{"type": "url_citation", "url_citation": {"url": "https://e.org"}}],
            "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
        counted = {"prompt_tokens": usage["input_tokens"], "completion_tokens": usage["output_tokens"]}
        completion = {"choices": [{"message": shown}], "usage": counted}
        surfaced(completion, client.mock.replies, only=["text", "annotations", "calls", "reasoning", "usage"])
        shown.pop("tool_calls")
        assert fault(completion, client) == "call f({}) not in the result"

    def test_the_apis_own_json_of_the_chunks_of_a_completion(self) -> None:
        client = said([reasoning("**One**"), message("Hi you."), function_call("f", {})])
        deltas: list[Json] = [
            {"reasoning_content": "**One**"},
            {"content": "Hi "},
            {"content": "you."},
            {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]},
        ]
        chunks = [{"object": "chat.completion.chunk", "choices": [{"delta": delta}]} for delta in deltas]
        surfaced(chunks, client.mock.replies, only=["text", "annotations", "calls", "reasoning"])
        assert fault(chunks[2:], client).startswith("text truncated: the result has the last 4 of 7")


class TestTheProtocol:
    def test_the_protocol_is_one_method(self) -> None:
        class Answer(SimpleNamespace):
            def __surfaced__(self) -> Json:
                return {"text": self.text, "annotations": None}

        client = said(message(TEXT))
        surfaced(Answer(text=TEXT), client.mock.replies)
        assert "text truncated" in fault(Answer(text="See the"), client)
        assert "text doubled" in fault([Answer(text=TEXT), Answer(text=TEXT)], client)

    @pytest.mark.parametrize(
        ("result", "words"),
        [
            (7, "unsupported result a builtins.int. Pass a text"),
            ({"txt": "Hi."}, "'txt' is not a part of a result. It has text, annotations"),
            ({"text": 7}, "text is 7. Text and reasoning are strings"),
            ({"annotations": ["file-1"]}, "annotations is \\['file-1'\\]"),
            ({"calls": {}}, "calls is {}"),
            ({"usage": 7}, "usage is 7"),
            ({"object": "response", "output": [7]}, "a builtins.dict has an unexpected structure: "),
            ({"choices": []}, "a builtins.dict has an unexpected structure: "),
        ],
    )
    def test_the_protocol_says_what_it_cannot_read(self, result: Any, words: str) -> None:
        with pytest.raises(ConfigError, match=words):
            surfaced(result, said(message(TEXT)).mock.replies)

    def test_the_protocol_reads_a_class_by_its_nearest_base(self) -> None:
        assert find_registered({"builtins.dict": 1, "builtins.object": 2}, {}) == 1
        assert find_registered({"builtins.object": 2}, {}) == 2
        assert find_registered({}, {}) is None

    def test_the_protocol_has_one_reader_for_a_class(self) -> None:
        with pytest.raises(RegistrationError, match=r"reader of agents\.RunResultBase in .* is declared twice"):
            register_reader("agents.RunResultBase")(read)
        assert READERS["agents.RunResultBase"] is not read

    def test_the_protocol_takes_what_an_object_keeps_of_the_wire_for_nothing(self) -> None:
        note = SimpleNamespace(title="a", raw_representation=object())
        assert to_plain_json([note, (1, b"x"), None]) == [{"title": "a"}, [1, b"x"], None]
        assert to_plain_json({"a": {1j}}) == {"a": ["1j"]}


class TestTheOpenAiPackage:
    TURN = (reasoning("**One**"), message(TEXT, annotations=NOTES), function_call("f", {}))
    ASK: ClassVar[Json] = {"model": "gpt-5", "input": "hi", "tools": tools_for(TURN)}
    ALL = ("text", "annotations", "calls", "reasoning", "usage")

    def test_whole(self, mock: Any, openai_client: Any) -> None:
        mock.script(list(self.TURN))
        response = openai_client.responses.create(**self.ASK)
        surfaced(response, mock.replies, only=self.ALL)
        response.output[1].content[0].annotations = []
        with pytest.raises(AssertionError, match="annotations lost: 4 of 4 annotations"):
            surfaced(response, mock.replies)

    def test_parsed(self, mock: Any, openai_client: Any) -> None:
        mock.script(message('{"n":1}'))
        form = pydantic.create_model("Form", n=(int, ...))
        surfaced(
            openai_client.responses.parse(model="gpt-5", input="hi", text_format=form),
            mock.replies,
            only=["text", "usage"],
        )

    def test_streamed(self, mock: Any, openai_client: Any) -> None:
        mock.script(list(self.TURN), list(self.TURN))
        surfaced(list(openai_client.responses.create(**self.ASK, stream=True)), mock.replies, only=self.ALL)
        with openai_client.responses.stream(**self.ASK) as stream:
            surfaced(list(stream), mock.replies, only=self.ALL)
            surfaced(stream.get_final_response(), mock.replies, only=self.ALL)

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_threads(self, mock: Any, openai_client: Any) -> None:
        mock.script(message(TEXT, annotations=NOTES[:2]), message(TEXT))
        threads, shown = openai_client.beta.threads, ["text", "annotations"]
        assistant = openai_client.beta.assistants.create(model="gpt-4o", instructions="Hi.")
        ids = {"thread_id": threads.create().id, "assistant_id": assistant.id}
        run = threads.runs.create_and_poll(**ids)
        surfaced(list(threads.messages.list(run.thread_id, run_id=run.id)), mock.replies, only=shown)
        with threads.runs.stream(**ids) as stream:
            surfaced(list(stream), mock.replies, only=shown)


class TestOpenAiAgents:
    TURNS = (
        [reasoning("**One**"), message("Let me look."), function_call("tool", {"city": "Paris"})],
        [reasoning("**Two**"), message(TEXT, annotations=NOTES)],
    )

    @pytest.mark.parametrize("how", ["run", "streamed", "events"])
    def test_a_run(self, how: str, mock: Any, agents: Any, async_client: Any) -> None:
        mock.script(*self.TURNS)

        def tool(city: str) -> str:
            return city

        model = agents.OpenAIResponsesModel("gpt-5", async_client)
        agent = agents.Agent("a", model=model, tools=[agents.function_tool(tool)])

        async def go() -> Any:
            if how == "run":
                return await agents.Runner.run(agent, "hi")
            run = agents.Runner.run_streamed(agent, "hi")
            told = [event async for event in run.stream_events()]
            return told if how == "events" else run

        result = asyncio.run(go())
        surfaced(result, mock.replies, only=TestTheOpenAiPackage.ALL)
        if how != "events":
            surfaced(result.final_output, mock.replies)
            result.new_items.pop()
            with pytest.raises(AssertionError, match="text truncated: the result has the first 12 of 38 characters"):
                surfaced(result, mock.replies)


def test_nothing_of_a_result_is_more_than_its_parts() -> None:
    assert Surface() == read({})
    client = said(message("Hi."))
    client.ask([user("hi")])
    surfaced({}, client.mock.replies)
