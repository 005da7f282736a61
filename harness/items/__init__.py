"""Items: builders for what a model emits, with the grammar of their events, and types that only a client sends.

Importing this registers all of them. The endings of a response are in `harness.ending`, its faults in `harness.faults`.
"""

from harness.core.registry import import_modules

MODULES = ("message", "calls", "search", "code", "image", "mcp", "computer", "reasoning", "agents", "project")
"""The modules that declare items, in the order in which a server is asked about them."""

import_modules(__name__, MODULES)

from harness.items.agents import agent_message, by_agent, created_by, multi_agent_call, multi_agent_call_output
from harness.items.calls import custom_tool_call, function_call
from harness.items.code import code_interpreter_call, program, program_output
from harness.items.computer import (
    apply_patch_call,
    apply_patch_call_output,
    computer_call,
    create_file,
    delete_file,
    local_shell_call,
    shell_call,
    shell_call_output,
    shell_output,
    update_file,
)
from harness.items.image import image_generation_call
from harness.items.mcp import mcp_approval_request, mcp_call, mcp_list_tools
from harness.items.message import (
    container_file_citation,
    file_citation,
    file_path,
    message,
    output_text,
    refusal,
    url_citation,
)
from harness.items.project import (
    a2a_preview_call,
    a2a_preview_call_output,
    azure_ai_search_call,
    azure_ai_search_call_output,
    azure_function_call,
    azure_function_call_output,
    bing_custom_search_preview_call,
    bing_custom_search_preview_call_output,
    bing_grounding_call,
    bing_grounding_call_output,
    browser_automation_preview_call,
    browser_automation_preview_call_output,
    fabric_dataagent_preview_call,
    fabric_dataagent_preview_call_output,
    memory_search_call,
    oauth_consent_request,
    openapi_call,
    openapi_call_output,
    remote_function_call,
    sharepoint_grounding_preview_call,
    sharepoint_grounding_preview_call_output,
    structured_outputs,
    workflow_action,
)
from harness.items.reasoning import compaction, reasoning
from harness.items.search import (
    file_search_call,
    find_in_page,
    open_page,
    search,
    tool_search_call,
    tool_search_output,
    web_search_call,
)

__all__ = [
    "a2a_preview_call",
    "a2a_preview_call_output",
    "agent_message",
    "apply_patch_call",
    "apply_patch_call_output",
    "azure_ai_search_call",
    "azure_ai_search_call_output",
    "azure_function_call",
    "azure_function_call_output",
    "bing_custom_search_preview_call",
    "bing_custom_search_preview_call_output",
    "bing_grounding_call",
    "bing_grounding_call_output",
    "browser_automation_preview_call",
    "browser_automation_preview_call_output",
    "by_agent",
    "code_interpreter_call",
    "compaction",
    "computer_call",
    "container_file_citation",
    "create_file",
    "created_by",
    "custom_tool_call",
    "delete_file",
    "fabric_dataagent_preview_call",
    "fabric_dataagent_preview_call_output",
    "file_citation",
    "file_path",
    "file_search_call",
    "find_in_page",
    "function_call",
    "image_generation_call",
    "local_shell_call",
    "mcp_approval_request",
    "mcp_call",
    "mcp_list_tools",
    "memory_search_call",
    "message",
    "multi_agent_call",
    "multi_agent_call_output",
    "oauth_consent_request",
    "open_page",
    "openapi_call",
    "openapi_call_output",
    "output_text",
    "program",
    "program_output",
    "reasoning",
    "refusal",
    "remote_function_call",
    "search",
    "sharepoint_grounding_preview_call",
    "sharepoint_grounding_preview_call_output",
    "shell_call",
    "shell_call_output",
    "shell_output",
    "structured_outputs",
    "tool_search_call",
    "tool_search_output",
    "update_file",
    "url_citation",
    "web_search_call",
    "workflow_action",
]
