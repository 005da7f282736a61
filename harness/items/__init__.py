"""Items: the builders of those that a model emits with the grammar of their events, those that only a client sends.

Importing this registers all of them. The endings of a response are in `harness.ending`, its faults in `harness.faults`.
"""

from harness.core.registry import import_modules

MODULES = (
    "message",
    "calls",
    "search",
    "code",
    "image",
    "mcp",
    "shell",
    "computer",
    "reasoning",
    "compaction",
    "agents",
    "input_only",
)
"""The modules that declare items, in the order in which a server is asked about them."""

import_modules(__name__, MODULES)

from harness.items.agents import agent_message, by_agent, multi_agent_call, multi_agent_call_output
from harness.items.calls import custom_tool_call, function_call
from harness.items.code import code_interpreter_call, program, program_output
from harness.items.compaction import compaction
from harness.items.computer import (
    apply_patch_call,
    apply_patch_call_output,
    computer_call,
    create_file,
    delete_file,
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
from harness.items.reasoning import reasoning
from harness.items.search import (
    file_search_call,
    find_in_page,
    open_page,
    search,
    tool_search_call,
    tool_search_output,
    web_search_call,
)
from harness.items.shell import local_shell_call, shell_call, shell_call_output, shell_output

__all__ = [
    "agent_message",
    "apply_patch_call",
    "apply_patch_call_output",
    "by_agent",
    "code_interpreter_call",
    "compaction",
    "computer_call",
    "container_file_citation",
    "create_file",
    "custom_tool_call",
    "delete_file",
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
    "message",
    "multi_agent_call",
    "multi_agent_call_output",
    "open_page",
    "output_text",
    "program",
    "program_output",
    "reasoning",
    "refusal",
    "search",
    "shell_call",
    "shell_call_output",
    "shell_output",
    "tool_search_call",
    "tool_search_output",
    "update_file",
    "url_citation",
    "web_search_call",
]
