"""Drives `openai-agents`: its runner, with hand-offs, agents as tools and approvals."""

from __future__ import annotations

from typing import Any, ClassVar

import agents
from openai import AsyncOpenAI

from harness.examine.session import APPROVALS, BASIC, ClientSession, SessionAdapter
from harness.examine.task import Agent, Task

MADE: Any = {"code_interpreter": agents.CodeInterpreterTool, "image_generation": agents.ImageGenerationTool}
READ: Any = {"file_search": lambda tool: agents.FileSearchTool(tool["vector_store_ids"]), "mcp": agents.HostedMCPTool}
HOSTED = {**MADE, **READ, "web_search": lambda tool: agents.WebSearchTool()}


class OpenAIAgentsSession(ClientSession):
    """Uses `Runner.run` and `Runner.run_streamed`, with the history, chain or conversation of the earlier runs."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._client = self.closing(AsyncOpenAI(**self.connection))
        self._history, self._state = list[Any](), dict[str, Any]()
        team = {member.name: self._make_agent(member) for member in self.agents}
        for member, made in zip(self.agents, team.values(), strict=True):
            made.handoffs = [agents.handoff(team[to], tool_name_override=f"transfer_to_{to}") for to in member.handoffs]
            made.tools += [team[name].as_tool(f"ask_{name}", f"Ask {name}.") for name in member.ask]
        self._agent = team[self.agents[0].name]

    def _make_agent(self, agent: Agent) -> Any:
        kept, more = self.stateless.get, dict(self.task.options) or None
        settings = agents.ModelSettings(store=kept("store"), response_include=kept("include"), extra_body=more)
        model = agents.OpenAIResponsesModel(self.task.model, self._client)
        make, hosted = agents.function_tool, [HOSTED[tool["type"]](tool) for tool in self.task.hosted_tools]
        own = [make(self.functions[tool.name], needs_approval=tool.needs_approval) for tool in self.tools_of(agent)]
        made: Any = agents.Agent(agent.name, instructions=agent.instructions, model=model, model_settings=settings)
        judge, word = agents.GuardrailFunctionOutput, self.task.guardrail
        guard = agents.OutputGuardrail(lambda *said: judge(None, tripwire_triggered=word in said[-1]))
        return made.clone(tools=[*own, *hosted], output_guardrails=[guard] if word else [])

    async def say(self, prompt: str) -> str:
        """Send a prompt and decide about the calls that wait for approval."""
        if self.task.state == "conversation" and not self._state:
            self._state = {"conversation_id": (await self._client.conversations.create()).id}
        result = await self._run([*self._history, {"role": "user", "content": prompt}])
        while result.interruptions:
            state = result.to_state()
            for item in result.interruptions:
                (state.approve if self.approves(str(item.name)) else state.reject)(item)
            result = await self._run(state)
        self._agent, self._history = result.last_agent, result.to_input_list() if self.replays else []
        if self.task.state == "chain":
            self._state = {"previous_response_id": result.last_response_id, "auto_previous_response_id": True}
        self.add_usage(result.context_wrapper.usage)
        messages = [item.raw_item for item in result.new_items if item.type == "message_output_item"]
        self.read_parts(messages[-1].content if messages else ())
        self.cut = "incomplete" if messages and messages[-1].status == "incomplete" else None
        return str(result.final_output)

    def _shorten(self, call: Any) -> Any:
        return agents.run.ModelInputData(self.shorten(call.model_data.input), call.model_data.instructions)

    async def _run(self, given: Any) -> Any:
        config = agents.RunConfig(tracing_disabled=True, call_model_input_filter=self._shorten)
        options = {**self._state, "run_config": config}
        if not self.task.stream:
            return await agents.Runner.run(self._agent, given, **options)
        result = agents.Runner.run_streamed(self._agent, given, **options)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                self.add_delta(event.data.delta)
        return result


class OpenAIAgentsAdapter(SessionAdapter):
    """The adapter for `openai-agents`."""

    package, session = "openai-agents", OpenAIAgentsSession
    features: ClassVar = (*BASIC, *APPROVALS, "handoffs", "agent_tools", "guardrails", "incomplete", "shortening")
    hosted: ClassVar = tuple(HOSTED)
    states: ClassVar = ("replay", "stateless", "chain", "conversation")
    states_of: ClassVar = {"guardrails": ("replay", "stateless", "chain")}
    dialects: ClassVar = ("openai", "azure", "foundry")
