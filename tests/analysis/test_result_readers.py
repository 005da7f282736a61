"""The readers of frameworks that are not installed here, on objects of the same form; client suites use the real ones."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from harness.analysis.result_readers import Surface, read
from harness.core.errors import ConfigError


def like(name: str, *bases: type, **members: Any) -> type:
    """Return a class of a framework, by its module and name."""
    module, _, own = name.rpartition(".")
    return type(own, bases or (SimpleNamespace,), {"__module__": module, **members})


NOTE = {"type": "citation", "file_id": "file-1", "raw_representation": object()}


class TestAgentFramework:
    Content = like("agent_framework._types.Content")
    Message = like("agent_framework._types.Message")
    ASKED = Content(type="function_call", name="g", arguments={"x": 1}, call_id="c2")

    @property
    def messages(self) -> list[Any]:
        content, message = self.Content, self.Message
        said = [
            content(type="text_reasoning", text="**One**"),
            content(type="text", text="Hi ", annotations=[NOTE]),
            content(type="text", text="you.", annotations=None),
            content(type="function_call", name="f", arguments="{}", call_id="c1"),
            content(type="function_approval_request", function_call=content(call_id="c1", name="f", arguments="{}")),
            content(type="function_approval_request", function_call=self.ASKED),
        ]
        user = message(role="user", contents=[content(type="text", text="Hello?")])
        return [user, message(role=SimpleNamespace(value="assistant"), contents=said)]

    WHOLE = Surface(
        text="Hi you.",
        annotations=[{"type": "citation", "file_id": "file-1"}],
        calls=[{"name": "f", "arguments": "{}"}, {"name": "g", "arguments": {"x": 1}}],
        reasoning="**One**",
        usage={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ids=frozenset({"resp_1"}),
    )

    @pytest.mark.parametrize("name", ["ChatResponse", "AgentResponse", "AgentRunResponse"])
    def test_responses(self, name: str) -> None:
        usage = {"input_token_count": 1, "output_token_count": 2, "total_token_count": 3}
        made = like(f"agent_framework._types.{name}")(messages=self.messages, usage_details=usage, response_id="resp_1")
        assert read(made) == self.WHOLE

    def test_usage_may_be_an_object(self) -> None:
        usage = SimpleNamespace(input_token_count=1, output_token_count=2, total_token_count=3)
        made = like("agent_framework._types.AgentResponse")(messages=[], usage_details=usage, response_id="resp_1")
        assert read(made).usage == self.WHOLE.usage

    def test_outputs_of_a_workflow_are_messages_one_after_the_other(self) -> None:
        outputs = [self.messages, self.messages[1]]
        made = like("agent_framework._workflows.WorkflowRunResult", list, get_outputs=lambda self: outputs)()
        assert read(made).text == "Hi you." * 2

    def test_events_of_a_workflow_have_its_outputs(self) -> None:
        event = like("agent_framework._workflows.WorkflowEvent")
        told = [event(type="started", data=None), event(type="output", data=self.messages)]
        assert read(told).text == "Hi you."

    @pytest.mark.parametrize("maker", ["from_updates", "from_agent_run_response_updates"])
    def test_updates_are_put_together_by_the_framework(self, maker: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def whole(cls: Any, updates: list[Any]) -> Any:
            return cls(messages=[message for update in updates for message in update.messages])

        module: Any = ModuleType("agent_framework.made_up")
        module.AgentResponse = like("agent_framework.made_up.AgentResponse", **{maker: classmethod(whole)})
        monkeypatch.setitem(sys.modules, "agent_framework.made_up", module)
        update = like("agent_framework.made_up.AgentResponseUpdate")
        told = [update(messages=self.messages[:1]), update(messages=self.messages[1:])]
        assert [read(shown).text for shown in (told, told[1])] == ["Hi you."] * 2

    def test_updates_that_nothing_puts_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module: Any = ModuleType("agent_framework.made_up")
        module.ChatResponse = like("agent_framework.made_up.ChatResponse")
        monkeypatch.setitem(sys.modules, "agent_framework.made_up", module)
        with pytest.raises(ConfigError, match=r"ChatResponse cannot be built from updates\. Pass the final response\."):
            read([like("agent_framework.made_up.ChatResponseUpdate")()])


class TestOpenAiAgents:
    def test_a_call_that_waited_for_leave_is_one_call(self) -> None:
        call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c1"}
        made, waits = (SimpleNamespace(type=kind, raw_item=call) for kind in ("tool_call_item", "tool_approval_item"))
        for told in ([made, waits], [waits]):
            assert read(like("agents.result.RunResultBase")(new_items=told, raw_responses=[])).calls == [call]


class TestPydanticAi:
    USAGE = SimpleNamespace(input_tokens=1, output_tokens=2, total_tokens=3)

    def response(self, *parts: Any) -> Any:
        kind = like("pydantic_ai.messages.ModelResponse")
        return kind(kind="response", parts=list(parts), usage=self.USAGE, provider_response_id="resp_1")

    @property
    def parts(self) -> list[Any]:
        return [
            SimpleNamespace(part_kind="thinking", content="**One**"),
            SimpleNamespace(part_kind="text", content="Hi."),
            SimpleNamespace(part_kind="tool-call", tool_name="f", args=None),
        ]

    @pytest.mark.parametrize("usage", [USAGE, lambda: TestPydanticAi.USAGE])
    @pytest.mark.parametrize("name", ["run.AgentRunResult", "result.StreamedRunResult"])
    def test_runs(self, name: str, usage: Any) -> None:
        asked = like("pydantic_ai.messages.ModelRequest")(kind="request", parts=[])
        made = like(f"pydantic_ai.{name}", new_messages=lambda self: self.told)(
            told=[asked, self.response(*self.parts)], usage=usage
        )
        shown = read(made)
        assert (shown.text, shown.reasoning, shown.ids) == ("Hi.", "**One**", {"resp_1"})
        assert shown.calls == [{"name": "f", "arguments": "{}"}]
        assert (shown.annotations, shown.usage) == (None, {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})

    def test_annotations_as_they_came_are_of_every_kind(self) -> None:
        text = SimpleNamespace(part_kind="text", content="", provider_details={"annotations": [{"type": "file_path"}]})
        shown = read([self.response(text), like("pydantic_ai.messages.ModelRequest")(kind="request")])
        assert (shown.annotations, shown.kinds) == ([{"type": "file_path"}], None)

    def test_citations_of_its_own_are_of_files_and_pages(self) -> None:
        text = SimpleNamespace(part_kind="text", content="", citations=[SimpleNamespace(url="https://e.org")])
        shown = read(self.response(text))
        assert (shown.annotations, shown.kinds) == ([{"url": "https://e.org"}], {"file_citation", "url_citation"})


class TestLangChain:
    Message = like("langchain_core.messages.ai.AIMessage", like("langchain_core.messages.base.BaseMessage"))

    def message(self, content: Any, **members: Any) -> Any:
        empty = {"tool_calls": [], "additional_kwargs": {}, "id": None, "response_metadata": {}}
        usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
        return self.Message(content=content, **{**empty, "usage_metadata": usage, **members})

    def test_messages_in_blocks(self) -> None:
        shown = read(
            self.message(
                [
                    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "**One**"}]},
                    {"type": "text", "text": "Hi.", "annotations": [{"url": "https://e.org"}]},
                    {"type": "function_call", "name": "f", "arguments": "{}"},
                    {"type": "non_standard", "value": {"type": "mcp_approval_request", "name": "g", "arguments": "{}"}},
                    {"type": "refusal", "refusal": "No."},
                    {"type": "non_standard", "value": {"type": "refusal", "refusal": " Not that."}},
                ],
                tool_calls=[{"name": "f", "args": {}}],
                id="lc_1",
                response_metadata={"id": "resp_1"},
            )
        )
        assert (shown.text, shown.reasoning, shown.ids) == ("Hi.No. Not that.", "**One**", {"lc_1", "resp_1"})
        assert (shown.annotations, len(shown.calls or ())) == ([{"url": "https://e.org"}], 2)

    def test_messages_of_other_versions(self) -> None:
        thought = {"type": "reasoning", "summary": [{"text": "**One**"}]}
        old = self.message("Hi.", additional_kwargs={"reasoning": thought})
        new = self.message([{"type": "reasoning", "reasoning": "**One**"}, "Hi."])
        assert [(shown.text, shown.reasoning) for shown in (read(old), read(new))] == [("Hi.", "**One**")] * 2

    def test_the_state_of_a_graph_shows_the_models_output(self) -> None:
        human = like("langchain_core.messages.human.HumanMessage", *self.Message.__bases__)(content="Hello?")
        shown = read({"messages": [human, self.message("Hi.")]})
        assert (shown.text, shown.usage) == ("Hi.", {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3})

    def test_refusal_beside_the_content(self) -> None:
        assert read(self.message("", additional_kwargs={"refusal": "No."})).text == "No."

    def test_chunks_are_added_up(self) -> None:
        add = {"__add__": lambda one, other: self.message(one.content + other.content)}
        chunk = like("langchain_core.messages.ai.AIMessageChunk", self.Message, **add)
        assert read([chunk(content="Hi "), chunk(content="you.")]).text == "Hi you."
