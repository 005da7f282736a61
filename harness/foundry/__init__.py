"""Azure AI Foundry and Azure OpenAI: a project's resources, one module each with its rules, and how both answer.

Importing this registers its endpoints and rules, those of OpenAI's API included.
"""

import harness.endpoints  # noqa: F401  (registers OpenAI's)
from harness.contract.rules import sort_rules
from harness.core.registry import import_modules

MODULES = (
    *("access", "agent_rules", "agent_sessions", "agents", "agent_responses", "project_input"),
    *("connections", "blobs", "assets", "memory_stores", "toolboxes", "skills", "resource_rules"),
)
"""The modules that register rules or endpoints; rules of one area in order of precedence."""
import_modules(__name__, MODULES)
sort_rules()
