"""Drives `litellm.aresponses`, which is called and read like the `openai` package."""

from __future__ import annotations

from typing import Any, ClassVar

import litellm
from openai import BaseModel

from harness.examine.adapters.openai_python import OpenAISession
from harness.examine.session import BASIC, OTHER_TOOLS, READ, SessionAdapter


class LiteLLMSession(OpenAISession):
    """Uses `litellm.aresponses`, where a model's name is prefixed with its provider."""

    async def _send(self, asked: dict[str, Any]) -> Any:
        own: dict[str, Any] = {"model": f"openai/{self.task.model}", "api_base": self.task.base_url}
        own |= {"api_key": self.task.api_key, "timeout": self.task.timeout}
        return await litellm.aresponses(**{**asked, **own})

    async def _respond(self, given: list[Any]) -> Any:
        """Ask for a response, and parse items of unknown types, which litellm leaves as they came."""
        response = await super()._respond(given)
        if response is not None:
            response.output = [
                BaseModel.construct(**item) if isinstance(item, dict) else item for item in response.output
            ]
        return response


class LiteLLMAdapter(SessionAdapter):
    """The adapter for `litellm.aresponses`."""

    package, session = "litellm", LiteLLMSession
    features: ClassVar = (*BASIC, *OTHER_TOOLS, "mcp_approvals", *READ)
    states: ClassVar = ("replay", "stateless", "chain")
