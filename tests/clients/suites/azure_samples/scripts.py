"""What the model says to the samples: it uses a tool whenever there is one; where that is not enough, what a script says."""

from collections.abc import Callable

from harness.items import (
    computer_call,
    file_citation,
    mcp_call,
    mcp_list_tools,
    memory_search_call,
    message,
    workflow_action,
)
from harness.items.kind import Item
from harness.unscripted.default_model import small_talk
from harness.world.mock import Mock

FOUND = "That is what I have found."


def eager(world, call):
    """A model without a script that uses a tool of the request whenever the user has spoken, and cites what it found."""
    body = call.request.body
    last = next(reversed(world.store.transcript(body).items), {})
    if body.get("tools") and last.get("role") == "user" and body.get("tool_choice") in (None, "auto"):
        call = call.with_request(call.request._replace(body={**body, "tool_choice": "required"}))
    turn = small_talk(call)
    if any(item.type == "file_search_call" for item in turn):
        return [item for item in turn if item.type != "message"] + [_cite(call.request.body, world.store)]
    return turn


def _cite(body, stored):
    """Return a message that cites a file of the stores that are searched, as far as there is one."""
    own = [*body["tools"], (body.get("tool_resources") or {}).get("file_search") or {}]
    named = [id for tool in own for id in tool.get("vector_store_ids") or ()]
    files = [id for store in named if store in stored.vector_stores for id in stored.vector_stores[store].files]
    known = [id for id in files if id in stored.files]
    return message(FOUND, annotations=[file_citation(id, stored.files[id].object["filename"], 0) for id in known[:1]])


def _use_screen(mock: Mock) -> None:
    mock.script(
        computer_call({"type": "type", "text": "OpenAI news"}),
        computer_call({"type": "keypress", "keys": ["ENTER"]}),
        message("The results are there."),
    )


def _use_toolbox(label: str, tool: str, output: str, text: str) -> Callable[[Mock], None]:
    """Return the script of a model that calls a tool of a toolbox."""
    turn = [mcp_list_tools(label, [tool]), mcp_call(label, tool, {}, output=output), message(text)]
    return lambda mock: mock.script(turn) and None


def _remember(mock: Mock) -> None:
    mock.script(
        [memory_search_call(), message("Noted.")],
        [memory_search_call(["The user prefers dark roast coffee."]), message("A dark roast is on its way.")],
    )


def _step(kind: str, action: str, previous: str, **more: int) -> Item:
    return workflow_action(kind, action, parent_action_id="my_workflow", previous_action_id=previous, **more)


def _teach(mock: Mock) -> None:
    """A workflow in which a student answers and a teacher is content."""
    mock.when(agent="student-teacher-workflow").script(
        [
            _step("SetVariable", "set_variable_input_task", "my_workflow"),
            _step("CreateConversation", "create_student_conversation", "set_variable_input_task"),
            _step("CreateConversation", "create_teacher_conversation", "create_student_conversation"),
            _step("InvokeAzureAgent", "student_agent", "create_teacher_conversation", holds=1),
            message("2"),
            _step("InvokeAzureAgent", "teacher_agent", "student_agent", holds=1),
            message("[COMPLETE]"),
            _step("EndConversation", "end_workflow", "teacher_agent"),
        ]
    )


TOOLS = "agents/tools/sample_"
_SEARCH = _use_toolbox("search-tool", "tool_search", "get_me", "Your username is octocat.")
_SHELL = _use_toolbox("shell-toolbox", "shell", "Python 3.14.0", "It is Python 3.14.0.")
_SHIPPING = _use_toolbox(
    "shipping-toolbox", "skill_search", "shipping-cost", "SHIPPING_COST_SKILL_APPLIED: 5 + 2 * 3 = 11 USD."
)
SCRIPTS = {
    "agents/sample_workflow_multi_agent.py": _teach,
    "agents/sample_workflow_multi_agent_async.py": _teach,
    "agents/sample_workflow_multi_agent_with_mcp_approval.py": _teach,
    f"{TOOLS}agent_computer_use.py": _use_screen,
    f"{TOOLS}agent_computer_use_async.py": _use_screen,
    f"{TOOLS}agent_memory_search.py": _remember,
    f"{TOOLS}agent_memory_search_async.py": _remember,
    f"{TOOLS}toolbox_with_shell.py": _SHELL,
    f"{TOOLS}toolbox_with_shell_and_skill.py": _SHELL,
    f"{TOOLS}toolbox_with_shipping_skill.py": _SHIPPING,
    f"{TOOLS}toolboxes_with_search.py": _SEARCH,
    f"{TOOLS}toolboxes_with_search_async.py": _SEARCH,
}
"""By sample what gives its World a script."""
