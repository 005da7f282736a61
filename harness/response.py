"""The response object: the full field set of 2026-08 with its defaults, echoing what the request asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.exchange import Json
from harness.model import model
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
    family = model(body.get("model") or "")

    def asked(name: str, default: Any) -> Any:
        value = body.get(name)
        return default if value is None else value

    made: Json = {
        "id": id,
        "object": "response",
        "created_at": created_at,
        "status": "in_progress",
        "background": bool(asked("background", False)),
        "completed_at": None,
        "error": None,
        "frequency_penalty": float(asked("frequency_penalty", 0.0)),
        "incomplete_details": None,
        "instructions": asked("instructions", None),
        "max_output_tokens": asked("max_output_tokens", None),
        "max_tool_calls": asked("max_tool_calls", None),
        "model": family.snapshot,
        "moderation": None,
        "output": [],
        "parallel_tool_calls": asked("parallel_tool_calls", True),
        "presence_penalty": float(asked("presence_penalty", 0.0)),
        "previous_response_id": asked("previous_response_id", None),
        "prompt_cache_key": asked("prompt_cache_key", None),
        "prompt_cache_retention": asked("prompt_cache_retention", family.retention),
        "reasoning": _reasoning(family.effort, family.turns, asked("reasoning", {})),
        "safety_identifier": asked("safety_identifier", None),
        "service_tier": asked("service_tier", "auto"),
        "store": asked("store", True),
        "temperature": float(asked("temperature", 1.0)),
        "text": _text(asked("text", {})),
        "tool_choice": asked("tool_choice", "auto"),
        "tool_usage": TOOL_USAGE,
        "tools": [_tool(tool) for tool in asked("tools", ())],
        "top_logprobs": asked("top_logprobs", 0),
        "top_p": float(asked("top_p", family.top_p)),
        "truncation": asked("truncation", "disabled"),
        "usage": None,
        "user": asked("user", None),
        "metadata": asked("metadata", {}),
    }
    if conversation:
        made["conversation"] = {"id": conversation}
    return made


def finished(started: Json, output: Sequence[Json], usage: Json, now: int, status: str = "completed") -> Json:
    """The response at its end."""
    tier = started["service_tier"]
    return {
        **started,
        "status": status,
        "completed_at": now if status == "completed" else None,
        "output": list(output),
        "service_tier": {"auto": "default", "fast": "priority"}.get(tier, tier),
        "usage": usage,
    }


def _reasoning(effort: str | None, turns: str | None, asked: Json) -> Json:
    summary = asked.get("summary")
    if turns is None:
        return {"effort": asked.get("effort"), "summary": summary}
    context = asked.get("context") or turns
    return {"context": context, "effort": asked.get("effort") or effort, "mode": "standard", "summary": summary}


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


def listed_input(body: Json) -> list[Json]:
    """The request's own input as `GET …/input_items` shows it: typed items, strings as parts; ids are given later."""
    return [_listed(item) for item in input_items(body)]


def _listed(item: Json) -> Json:
    if item.get("role") is None or item.get("type", "message") != "message":
        return dict(item)
    content = item["content"]
    kind = "output_text" if item["role"] == "assistant" else "input_text"
    parts = [{"type": kind, "text": content}] if isinstance(content, str) else content
    phase = {"phase": item["phase"]} if item.get("phase") else {}
    base: Json = {"type": "message", "status": "completed", "content": parts, "role": item["role"], **phase}
    return {"id": item["id"], **base} if item.get("id") else base
