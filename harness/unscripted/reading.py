"""What a model without a script reads of a request, with earlier items as far as they matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from harness.api.models import Model
from harness.api.resources.containers import CONTAINER_ID_PREFIX
from harness.api.tools import declared_tools, loaded_tools
from harness.contract.check import drop_nulls
from harness.core.exchange import Json
from harness.core.loose_json import as_string
from harness.items.transcript import Transcript, input_items
from harness.world.api_call import ApiCall
from harness.world.world import World

REMEMBERED_TYPES = (
    "additional_tools",
    "configuration_update",
    "mcp_approval_request",
    "mcp_list_tools",
    "tool_search_call",
    "tool_search_output",
)
"""The types of earlier items that matter; all earlier items are read only if one of these is among them."""
MAX_QUERY = 200
"""The maximum number of characters of a search query."""
NAMED_TYPES = ("function", "custom")
"""The types of tools that the client executes and names itself."""


class CallableTool(NamedTuple):
    """A tool that can be called; `search_path` is the path that a tool search must find first, if any."""

    tool: Json
    namespace: str | None = None
    search_path: str = ""


@dataclass(frozen=True)
class Reading:
    """What the model reads of one request to a World."""

    call: ApiCall

    @property
    def world(self) -> World:
        """The World that answers the request."""
        return self.call.world

    @cached_property
    def body(self) -> Json:
        """The body without null members; empty if it is not an object."""
        body = drop_nulls(self.call.request.body)
        return body if isinstance(body, dict) else {}

    @cached_property
    def transcript(self) -> Transcript:
        """The items that the request continues, followed by its own."""
        return self.world.store.transcript(self.body)

    @cached_property
    def items(self) -> Sequence[Json]:
        """The items of the request, or of the whole transcript if an earlier item matters."""
        return self.transcript.items_from_first(*REMEMBERED_TYPES)

    @cached_property
    def own(self) -> Sequence[Json]:
        """The items of the request as they were sent, which need no lookup in the store."""
        return input_items(self.body)

    @property
    def last(self) -> Json:
        """The last item of the request."""
        return next(reversed(self.own), {})

    @property
    def family(self) -> Model:
        """The model's family."""
        return self.world.models.defaults(self.body.get("model") or "")

    @cached_property
    def user_text(self) -> str:
        """The user's last message."""
        for items in (self.own, self.items):
            if text := next((text for item in reversed(items) if (text := user_text(item))), ""):
                return text
        return ""

    @property
    def query(self) -> str:
        """The query of a search: the user's last message, shortened."""
        return self.user_text.strip()[:MAX_QUERY] or "search"

    @property
    def said(self) -> str:
        """The user's last message; empty if something else came after it."""
        return user_text(next((item for item in reversed(self.items) if item.get("type") not in REMEMBERED_TYPES), {}))

    @property
    def text_format(self) -> Json:
        """The effective `text.format`: from the last `configuration_update` with a format, else from the request."""
        updates = () if self.stands_alone else self.items
        texts = [item.get("text") for item in updates if item.get("type") == "configuration_update"]
        formats = (text["format"] for text in [*reversed(texts), self.body.get("text")] if text and text.get("format"))
        return next(formats, {})

    @property
    def names_called(self) -> set[str]:
        """The names of the functions and custom tools that were called since the user last spoke."""
        since = takewhile(lambda item: item.get("role") != "user", reversed(self.transcript.items))
        return {item["name"] for item in since if item.get("type") in ("function_call", "custom_tool_call")}

    @cached_property
    def tools(self) -> list[Json]:
        """The tools declared by the request or its input, then those loaded by searches."""
        if not self.body.get("tools") and self.stands_alone:
            return []
        declared = declared_tools(self.body, self.items)
        # A Foundry project accepts any value as the name of its own tools.
        names = {as_string(tool.get("name")) for tool in declared}
        return [*declared, *(tool for name, tool in self._loaded.items() if name not in names)]

    @cached_property
    def named_tools(self) -> list[CallableTool]:
        """The functions and custom tools, including those in namespaces."""
        return list(self._list_named())

    @cached_property
    def stands_alone(self) -> bool:
        """Whether the request continues nothing and has no item of REMEMBERED_TYPES."""
        continues = "previous_response_id" in self.body or "conversation" in self.body
        return not continues and not any(item.get("type") in REMEMBERED_TYPES for item in self.own)

    @cached_property
    def _loaded(self) -> dict[str, Json]:
        """The tools that searches loaded, by name."""
        searches = [item for item in self.items if item.get("type") == "tool_search_output"]
        waiting = declared_tools(self.body, self.items) if searches else ()
        return {name: tool for item in searches for name, tool in loaded_tools(item, waiting).items()}

    def _list_named(self) -> Iterator[CallableTool]:
        for tool in self.tools:
            is_space = tool.get("type") == "namespace"
            for inner in tool.get("tools") or () if is_space else [tool]:
                if inner.get("type") in NAMED_TYPES:
                    waits = inner.get("defer_loading")
                    has_space = is_space or (waits and tool["type"] == "function")
                    path = tool["name"] if waits and tool["name"] not in self._loaded else ""
                    yield CallableTool(inner, tool["name"] if has_space else None, path)

    def shell_container(self) -> str:
        """Return the container of an automatic shell: the one of the last such call, or a new one."""
        calls = reversed(self.transcript.items_of("shell_call"))
        used = (id for item in calls if (id := (item.get("environment") or {}).get("container_id")))
        return next(used, None) or self.world.ids.hex(CONTAINER_ID_PREFIX, 48)


def user_text(item: Json) -> str:
    """Return the text of a user message; empty for other items."""
    content = item.get("content") if item.get("role") == "user" else None
    parts = content if isinstance(content, list) else [{"text": content}]
    return " ".join(text for part in parts if isinstance(part, dict) and isinstance(text := part.get("text"), str))
