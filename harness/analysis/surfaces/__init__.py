"""Readers of results: one module a framework, and `wire` for everything that is the API's own JSON."""

from harness.analysis.surfaces.wire import read as read
from harness.core.registry import import_modules

FRAMEWORKS = ("agents", "agent_framework", "langchain", "pydantic_ai")

import_modules(__name__, FRAMEWORKS)
