"""Every reader of results: one module a framework, and `wire` for all that is the API's own JSON."""

from __future__ import annotations

from harness.analysis.surfaces import agent_framework, agents, langchain, pydantic_ai
from harness.analysis.surfaces.wire import read

__all__ = ["agent_framework", "agents", "langchain", "pydantic_ai", "read"]
