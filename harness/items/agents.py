"""The items of a multi-agent response: hosted actions of agents, their results, messages between agents.

The API executes the actions; a client only sends the items back. Every item of such a response, and every event about
it, names the agent that made it; according to OpenAI's guide to multi-agent and the beta types of the SDK, read in
2026-11.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text import show
from harness.items.calls import encode_arguments
from harness.items.hosted import PLACEHOLDER_CIPHERTEXT
from harness.items.kind import Item, item, require_text
from harness.items.message import output_text

ROOT_AGENT = "/root"
"""The agent that answers the user; agents that it spawns are below it: `/root/researcher`."""
ACTIONS = ("spawn_agent", "interrupt_agent", "list_agents", "send_message", "followup_task", "wait_agent")


@item("mac", status=False, defaults={"call_id": None, "arguments": "{}"})
def multi_agent_call(action: str, arguments: Mapping[str, Any] | str = "{}", *, call_id: str | None = None) -> Json:
    """Let an agent act on others, for example `multi_agent_call("spawn_agent", {"task_name": "a"}, call_id="call_a")`."""
    return {"action": _check_action(action), "arguments": encode_arguments(arguments), "call_id": call_id}


@item("maco", status=False, defaults={"output": []})
def multi_agent_call_output(action: str, call_id: str, output: str = "{}") -> Json:
    """Return from the action with that `call_id`, which the API has executed; `output` is the text of its result."""
    return {
        "action": _check_action(action),
        "call_id": require_text("call_id", call_id),
        "output": [output_text(output)],
    }


@item("amsg", status=False)
def agent_message(author: str, recipient: str, encrypted_content: str = PLACEHOLDER_CIPHERTEXT) -> Json:
    """Let an agent write to another, encrypted for everyone else; it belongs to the recipient."""
    content = {"type": "encrypted_content", "encrypted_content": require_text("encrypted_content", encrypted_content)}
    return {
        "agent": {"agent_name": require_text("recipient", recipient)},
        "author": require_text("author", author),
        "content": [content],
        "recipient": recipient,
    }


def _check_action(action: str) -> str:
    if action not in ACTIONS:
        raise ScriptError(f"action is {show(action)}. Use one of: {', '.join(ACTIONS)}.")
    return action


def by_agent(name: str, made: Item) -> Item:
    """Assign an item to an agent, for example `by_agent("/root/researcher", message("It is 21 °C."))`.

    Items without an agent belong to `/root`.
    """
    return _with_member(made, "agent", {"agent_name": require_text("agent", name)})


def created_by(actor: str | Mapping[str, Any], made: Item) -> Item:
    """Name the actor that created an item, for example `created_by("user_1", shell_call("ls"))`.

    OpenAI's types have this member, but no recorded answer; a preview of Foundry sends an object with the agent and the
    response by itself.
    """
    if isinstance(actor, Mapping):
        return _with_member(made, "created_by", {**actor})
    return _with_member(made, "created_by", require_text("created_by", actor))


def _with_member(made: Item, name: str, value: Any) -> Item:
    if not isinstance(made, Item):
        raise ScriptError(f"{name}: {show(made)} is not an item. Pass one such as message('Hi.') after the name.")
    return replace(made, members=dict(sorted({**made.members, name: value}.items())))
