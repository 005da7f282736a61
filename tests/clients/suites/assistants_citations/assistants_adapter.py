"""The Assistants client of agent-framework as an adapter."""

from __future__ import annotations

from agent_framework import Agent
from agent_framework.openai import OpenAIAssistantsClient

from harness.examine.case import THREAD
from harness.examine.session import ClientSession, SessionAdapter


class AssistantsSession(ClientSession):
    """An agent for each prompt, on a client with one thread."""

    async def say(self, prompt: str) -> str:
        task = self.task
        client = OpenAIAssistantsClient(model_id=task.model, base_url=task.base_url, api_key=task.api_key)
        async with Agent(client=client, name="assistant", instructions=task.instructions) as agent:
            if task.stream:
                stream = agent.run(prompt, stream=True)
                async for update in stream:
                    self.add_delta(update.text)
                response = await stream.get_final_response()
            else:
                response = await agent.run(prompt)
        contents = [content for message in response.messages for content in message.contents]
        notes = [dict(note) for content in contents for note in content.annotations or ()]
        self.annotations = [{"type": "file_citation", "file_id": note.get("file_id")} for note in notes]
        return str(response.text)


class AssistantsAdapter(SessionAdapter):
    """`OpenAIAssistantsClient`."""

    package, session = "agent-framework-core", AssistantsSession
    areas = ("dialects",)
    states = (THREAD,)
