"""Readers of results: one module per framework, and `wire` for the API's own JSON."""

from harness.analysis.surfaces.wire import read as read
from harness.core.registry import import_modules

FRAMEWORKS = ("agents", "agent_framework", "langchain", "pydantic_ai")

import_modules(__name__, FRAMEWORKS)
