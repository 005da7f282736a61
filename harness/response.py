"""The response object: the full field set of 2026-08 with its defaults, echoing what the request asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from harness.contract import conform
from harness.exchange import Finding, Json
from harness.ids import Ids
from harness.item import Item, finish
from harness.model import Model, model
from harness.transcript import input_items

TOOL_USAGE: Json = {
    "image_gen": {
        "input_tokens": 0,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"image_tokens": 0, "text_tokens": 0},
        "total_tokens": 0,
    },
    "web_search": {"num_requests": 0},
}


def skeleton(body: Json, id: str, created_at: int, *, conversation: str | None = None) -> Json:
    """A response as `response.created` carries it: in progress, nothing said yet; times are unix seconds."""
    made = {**_blank(model(body.get("model") or "")), "id": id, "created_at": created_at}
    for name, value in body.items():
        if value is not None and (echo := _ECHOES.get(name)):
            made[name] = echo(value)
    if asked := body.get("reasoning"):
        made["reasoning"] = _reasoning(model(body.get("model") or ""), asked)
    if conversation:
        made["conversation"] = {"id": conversation}
    return made


@lru_cache(maxsize=64)
def _blank(family: Model) -> Json:
    """What a response of a model says of everything that was not asked for; shared, so never changed."""
    return {
        "id": "",
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "background": False,
        "completed_at": None,
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "model": family.snapshot,
        "moderation": None,
        "output": [],
        "parallel_tool_calls": True,
        "presence_penalty": 0.0,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "prompt_cache_retention": family.retention,
        "reasoning": _reasoning(family, {}),
        "safety_identifier": None,
        "service_tier": "auto",
        "store": True,
        "temperature": 1.0,
        "text": _text({}),
        "tool_choice": "auto",
        "tool_usage": TOOL_USAGE,
        "tools": [],
        "top_logprobs": 0,
        "top_p": family.top_p,
        "truncation": "disabled",
        "usage": None,
        "user": None,
        "metadata": {},
    }


def finish_with(started: Json, output: Sequence[Json], usage: Json, now: int, status: str = "completed") -> Json:
    """The response at its end: `started` itself, which nobody else holds, with what was said."""
    tier = started["service_tier"]
    started["status"] = status
    started["completed_at"] = now if status == "completed" else None
    started["output"] = list(output)
    started["service_tier"] = {"auto": "default", "fast": "priority"}.get(tier, tier)
    started["usage"] = usage
    return started


def billed(response: Json) -> Json:
    """A response as JSON shows it at its end: with who pays. Recorded: never in a stream, nor while it is under way."""
    return {**response, "billing": {"payer": "developer"}} if response["status"] == "completed" else response


def departure(item: Item) -> Finding | None:
    """Where an item is none the API could give, judged inside an otherwise plain response; None when it could."""
    said = finish(item, Ids("departure"), "resp_0", 0)
    return conform("Response", {**_blank(model("gpt-4.1")), "id": "resp_0", "output": [said]})


def _reasoning(family: Model, asked: Json) -> Json:
    summary = asked.get("summary")
    if family.turns is None:
        return {"effort": asked.get("effort"), "summary": summary}
    return {
        "context": asked.get("context") or family.turns,
        "effort": asked.get("effort") or family.effort,
        "mode": asked.get("mode") or "standard",
        "summary": summary,
    }


def _text(asked: Json) -> Json:
    format = asked.get("format") or {"type": "text"}
    if format.get("type") == "json_schema":
        schema = format.get("schema")
        strict = format.get("strict")
        description = format.get("description")
        format = {
            "type": "json_schema",
            "description": description,
            "name": format.get("name"),
            "schema": schema,
            "strict": True if strict is None else strict,
        }
    return {"format": format, "verbosity": asked.get("verbosity") or "medium"}


def _function(tool: Json) -> Json:
    strict = True if tool.get("strict") is None else tool["strict"]
    parameters = tool.get("parameters")
    if strict and "strict" not in tool and isinstance(parameters, dict):
        parameters = {"additionalProperties": False, **parameters}
    return {
        "type": "function",
        "description": tool.get("description"),
        "name": tool["name"],
        "output_schema": tool.get("output_schema"),
        "parameters": parameters,
        "strict": strict,
        **{name: tool[name] for name in ("defer_loading", "async", "allowed_callers") if name in tool},
    }


def _file_search(tool: Json) -> Json:
    ranking = {"ranker": "auto", "score_threshold": 0.0, **(tool.get("ranking_options") or {})}
    return {"filters": None, "max_num_results": 20, **tool, "ranking_options": ranking}


def _web_search(tool: Json) -> Json:
    where = {"type": "approximate", "city": None, "country": "US", "region": None, "timezone": None}
    location = {**where, **(tool.get("user_location") or {})}
    return {"filters": None, "search_context_size": "medium", **tool, "user_location": location}


def _mcp(tool: Json) -> Json:
    defaults = {"allowed_tools": None, "headers": None, "require_approval": "always", "server_description": None}
    headers = dict.fromkeys(tool.get("headers") or {}, "<redacted>") or None
    return {**defaults, **tool, "headers": headers}


_NORMAL: Mapping[str, Callable[[Json], Json]] = {
    "function": _function,
    "file_search": _file_search,
    "web_search": _web_search,
    "mcp": _mcp,
}


def _tool(tool: Json) -> Json:
    """A tool as the response echoes it, with the defaults the API fills in."""
    return _NORMAL.get(tool["type"], dict)(tool)


def _same(value: Any) -> Any:
    return value


_ECHOES: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "temperature", "top_p"), float),
    **dict.fromkeys(
        (
            "background",
            "instructions",
            "max_output_tokens",
            "max_tool_calls",
            "metadata",
            "parallel_tool_calls",
            "previous_response_id",
            "prompt_cache_key",
            "prompt_cache_retention",
            "safety_identifier",
            "service_tier",
            "store",
            "tool_choice",
            "top_logprobs",
            "truncation",
            "user",
        ),
        _same,
    ),
    "text": _text,
    "tools": lambda tools: list(map(_tool, tools)),
}
"""The members of a request that its response repeats, and how."""


_PARTS: Mapping[str, Json] = {
    "output_text": {"annotations": [], "logprobs": []},
    "input_image": {"detail": "auto", "file_id": None, "image_url": None},
}
"""The members a part has in a list although the client may leave them out."""

_WITH_STATUS = frozenset(
    f"{name}{end}"
    for name in ("apply_patch", "computer", "custom_tool", "function", "shell", "tool_search")
    for end in ("_call", "_call_output", "_output")
) | {"code_interpreter_call", "file_search_call", "image_generation_call", "local_shell_call", "web_search_call"}
"""The kinds of items that have a status in a list although the client may leave it out."""


def listed_input(body: Json) -> list[Json]:
    """The request's own input as `GET …/input_items` shows it: typed items, strings as parts; ids are given later."""
    return [_listed(item) for item in input_items(body)]


def _listed(item: Json) -> Json:
    if item.get("role") is None or item.get("type", "message") != "message":
        return _listed_other(item)
    content = item["content"]
    kind = "output_text" if item["role"] == "assistant" else "input_text"
    parts = _parts([{"type": kind, "text": content}] if isinstance(content, str) else content)
    phase = {"phase": item["phase"]} if item.get("phase") else {}
    base: Json = {"type": "message", "status": "completed", "content": parts, "role": item["role"], **phase}
    return {"id": item["id"], **base} if item.get("id") else base


def _listed_other(item: Json) -> Json:
    listed = {**item, "status": item.get("status") or "completed"} if item.get("type") in _WITH_STATUS else dict(item)
    if isinstance(item.get("output"), list):
        listed["output"] = _parts(item["output"])
    return listed


def _parts(parts: Sequence[Json]) -> list[Json]:
    """Parts with the members that a list always shows; what the client gave as null is one it left out."""
    return [
        {**_PARTS.get(part.get("type", ""), {}), **{name: said for name, said in part.items() if said is not None}}
        for part in parts
    ]
