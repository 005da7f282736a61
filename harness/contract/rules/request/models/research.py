"""Deep research models: required and accepted tools. Checked before any other feature."""

from collections.abc import Iterator

from harness.api.models import Model
from harness.contract.phrasing import quote_and_join
from harness.contract.rule import Case, recorded, reported, rule
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

_THEN = "2026-06"
"""A month in which these models still existed."""


def tool_types(request: Request) -> list[str]:
    """Return the types of the declared tools, without version suffixes."""
    return [tool["type"].partition("_2025")[0] for tool in request.body.get("tools") or ()]


def _research(*tools: Json) -> Case:
    return Case({"model": "o3-deep-research", "tools": [*tools]}, as_of=_THEN)


@rule(
    bad_request("Deep research models only support the {kinds} tools.", "tools"),
    reported("https://github.com/charmbracelet/crush/issues/2243", "2026-02-17"),
    when="tools",
    reads=(),
    rejects={
        "'web_search_preview', 'code_interpreter', 'mcp', and 'file_search'": _research(
            {"type": "web_search_preview"}, {"type": "function", "name": "f", "parameters": {}, "strict": False}
        )
    },
    accepts=[_research({"type": "web_search_preview"}, {"type": "code_interpreter", "container": {"type": "auto"}})],
    fix="Declare only these tools.",
)
def research_tools_only(request: Request, family: Model | None) -> Iterator[Json]:
    """Deep research models accept search tools, and none of the client's tools."""
    if family and family.only_tools and not set(tool_types(request)) <= {*family.only_tools, "web_search"}:
        yield {"kinds": quote_and_join(family.only_tools, "and")}


@rule(
    bad_request("Deep research models require at least one of {kinds} tools.", "tools"),
    recorded("pydantic/pydantic-ai", "2026-03-06"),
    reported("https://github.com/CherryHQ/cherry-studio/issues/11914", "2025-12-14"),
    reads="tools",
    rejects={
        "'web_search_preview', 'mcp', or 'file_search'": Case(
            {"model": "o3-deep-research", "temperature": 0.5}, as_of=_THEN
        )
    },
    accepts=[_research({"type": "web_search_preview"})],
    fix="Declare one of these tools.",
)
def deep_research_tools(request: Request, family: Model | None) -> Iterator[Json]:
    """Deep research models need a tool to search with; checked before their other features."""
    if family and family.needs_tools and not {*family.needs_tools, "web_search"}.intersection(tool_types(request)):
        yield {"kinds": quote_and_join(family.needs_tools, "or")}
