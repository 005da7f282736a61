"""Items of the API's own tools: the client runs nothing, and goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.core.exchange import Json
from harness.examine.case import case
from harness.examine.cases.common import ASKED_TWICE
from harness.examine.checks import requests, shows
from harness.items import (
    code_interpreter_call,
    file_search_call,
    image_generation_call,
    mcp_call,
    mcp_list_tools,
    message,
    shell_call,
    shell_call_output,
    web_search_call,
)
from harness.items.kind import Item

FILES = {"type": "file_search", "vector_store_ids": ["vs_guides"]}
PROD = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse", "require_approval": "never"}


def _hosted(name: str, tool: Json, *items: Item, source: str, **words: Any) -> None:
    case(
        f"answers/{name}",
        shows("Done.", "You are welcome."),
        requests(2),
        title=f"Items of {tool['type']}",
        does=f"The output has {' and '.join(item.type for item in items)} before its message; then the user goes on.",
        source=source,
        shows="The text. What the API ran is not run again, and goes back as it was.",
        severity="must",
        task=replace(ASKED_TWICE, hosted_tools=(tool,), model=words.pop("model", ASKED_TWICE.model)),
        script=lambda mock: (
            mock.organization(files={"vs_guides"}),
            mock.script([*items, message("Done.")], message("You are welcome.")),
        ),
        **words,
    )


_RECORDED = "recorded answers with this tool, 2025 and 2026"
_hosted("web-search", {"type": "web_search"}, web_search_call("weather"), source=_RECORDED)
_hosted(
    "web-search-without-action",
    {"type": "web_search"},
    web_search_call(),
    source="recorded, 2025: a call without `action`",
)
_hosted(
    "file-search",
    {"type": "file_search", "vector_store_ids": ["vs_guides"]},
    file_search_call("guide"),
    source=_RECORDED,
)
_hosted(
    "code-interpreter",
    {"type": "code_interpreter", "container": {"type": "auto"}},
    code_interpreter_call("print(1)"),
    source=_RECORDED,
)
_hosted("image-generation", {"type": "image_generation"}, image_generation_call(), source=_RECORDED)
_hosted(
    "mcp-call",
    PROD,
    mcp_list_tools("prod", ["deploy"]),
    mcp_call("prod", "deploy", {}, output="live"),
    source=_RECORDED,
)
_hosted(
    "mcp-call-failed",
    PROD,
    mcp_list_tools("prod", ["deploy"]),
    mcp_call("prod", "deploy", {}, error="Bad Gateway"),
    source="recorded: `status` failed with an `error`, 2025",
)
_hosted(
    "hosted-shell",
    {"type": "shell", "environment": {"type": "container_auto"}},
    shell_call("ls", container_id="cntr_1", call_id="call_1"),
    shell_call_output("call_1", "a.txt"),
    model="gpt-5.2",
    source="API reference, the tool `shell` in a container, 2026-02",
)
