"""`litellm.aresponses`, asked and read as the `openai` package is."""

from __future__ import annotations

from typing import Any, ClassVar

import litellm

from harness.examine.adapters.openai_python import OpenAISession
from harness.examine.session import BASIC, SessionAdapter


class LiteLLMSession(OpenAISession):
    """`litellm.aresponses`, whose models have their provider before them."""

    async def _send(self, asked: dict[str, Any]) -> Any:
        own: dict[str, Any] = {"model": f"openai/{self.task.model}", "api_base": self.task.base_url}
        own |= {"api_key": self.task.api_key, "timeout": self.task.timeout}
        return await litellm.aresponses(**{**asked, **own})


class LiteLLMAdapter(SessionAdapter):
    """`litellm.aresponses`."""

    package, session = "litellm", LiteLLMSession
    features: ClassVar = (*BASIC, "mcp_approvals", "reasoning")
    states: ClassVar = ("replay", "stateless", "chain")
