"""Several agents, guardrails, approvals."""

from harness.core.registry import import_modules

import_modules(__name__, ("handoffs", "nested", "approvals", "mcp_approvals"))
