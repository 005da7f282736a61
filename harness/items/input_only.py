"""The item types that only a client sends; no model emits them, so they have neither a builder nor events.

These include the outputs of tool calls, except those that the API may write itself (for example `shell_call_output`).
"""

from __future__ import annotations

from harness.items.kind import input_item

input_item("function_call_output", "What a function of the client returned.", output_of="function_call", status=True)
input_item(
    "custom_tool_call_output", "What a custom tool of the client returned.", output_of="custom_tool_call", status=True
)
input_item(
    "local_shell_call_output", "What a command printed; its `id` is the `call_id`.", output_of="local_shell_call"
)
input_item("computer_call_output", "A screenshot.", output_of="computer_call", status=True)
input_item("mcp_approval_response", "Whether the client approves a call of a tool of an MCP server.")
input_item("item_reference", "A stored item, by its id.")
input_item("compaction_trigger", "Asks the API to compact what stands before it.")
input_item("additional_tools", "Tools that the model may call from here on.")
