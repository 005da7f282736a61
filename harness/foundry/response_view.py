"""A response and the events of its stream as Azure OpenAI or a project shows them on a given day."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.api.project_types import AGENT_KINDS, HOSTED, PROMPT, category_results, filter_result, order_tool
from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.core.exchange import Json
from harness.core.json_values import omit, pick
from harness.foundry.answer_members import (
    ADDED_MEMBERS,
    CATEGORY_ORDER,
    CONTEXT_SINCE,
    CREATED_BY_SINCE,
    DEFAULT_RETENTION,
    EVENT_WITHOUT,
    HOSTED_ITEM_END,
    LISTED_ITEM_HEAD,
    LISTED_RESPONSE,
    NOT_IN_AZURE,
    NOT_IN_PROJECT_STREAM,
    NULL_CONTEXT_SINCE,
    OLD_LISTED_ITEM_HEAD,
    OWN_EVENT_ORDER,
    PARTITION,
    PROJECT_RESPONSE,
    REASONING_ORDER,
    RESPONSE_OF_KIND,
    REWRITTEN,
    VALUES_OF_KIND,
    shape,
    show_item,
    show_members,
    show_usage,
    write_numbers,
)


class View:
    """How to show the response `id`: the dialect, the day, and what is known of its request.

    `origin` has the deployment (`model`) and, in a project, the `agent` with its `kind`, the `tool_choice` of the
    request, the `agent_session_id`, and whether the client used a preview version (`is_preview`).
    """

    def __init__(self, dialect: str, day: str, origin: Json, id: str) -> None:
        self.is_project, self.day, self.origin, self.id = dialect == FOUNDRY, day, origin, id
        self.kind = AGENT_KINDS.get(origin.get("kind", ""), PROMPT) if self.is_project else PROMPT
        self._streamed: tuple[Json, Json] | None = None

    def show_response(self, response: Json) -> Json:
        """Show a response as JSON."""
        if not self.is_project:
            return self._show_for_azure(response)
        own = self.kind.name in RESPONSE_OF_KIND
        shown: Json = write_numbers(self._show_own(response) if own else self._show_as_json(response))
        return shown

    def show_streamed(self, response: Json) -> Json:
        """Show a response as in the events of a stream, of which several may have the same one."""
        if self._streamed is None or self._streamed[0] is not response:
            if not self.is_project:
                shown = self._show_for_azure(response)
            elif self.kind.name in RESPONSE_OF_KIND:
                shown = self._show_own(response)
            else:
                shown = self._show_in_stream(response)
            self._streamed = response, shown
        return self._streamed[1]

    def show_listed(self, response: Json) -> Json:
        """Show a response as in a project's list of responses, with the model that answered, not its deployment."""
        given = {
            "conversation": None,
            **response,
            **self._shape_parts(response),
            **self._name_agent(),
            "model": response["model"],
            "output": [self._show_listed_item(item) for item in response["output"]],
            "usage": _listed_usage(response["usage"]),
            "structured_inputs": {},
        }
        if response["reasoning"]["effort"] is None:
            del given["reasoning"]
        else:
            given["reasoning"] = {"effort": response["reasoning"]["effort"]}
        shown: Json = write_numbers(show_members(given, LISTED_RESPONSE, self.day))
        return shown

    def _show_listed_item(self, item: Json) -> Json:
        shown = {**self.show_item(item), PARTITION: item["id"].partition("_")[2][:_PARTITION_LENGTH]}
        head = pick(shown, *(OLD_LISTED_ITEM_HEAD if self.day < REWRITTEN else LISTED_ITEM_HEAD))
        return head | {name: value for name, value in shown.items() if name not in head}

    def show_event(self, event: Json) -> Json:
        """Show an event of a stream."""
        kind, shown = self.kind, event
        if "response" in event:
            shown = {**event, "response": self.show_streamed(event["response"])}
        elif not self.is_project:
            return event
        elif "item" in event:
            added = ADDED_MEMBERS.get(event["item"]["type"], {}) if event["type"].endswith(".added") else {}
            shown = {**event, "item": self.show_item({**event["item"], **added})}
        elif (left_out := EVENT_WITHOUT.get(event["type"])) in event:
            shown = omit(event, left_out)
        elif kind.sends_whole_texts and "part" in event:
            shown = {**event, "part": omit(shape(event["part"], self.day), "logprobs")}
        # Recorded: the streams of workflows count from one.
        if kind.first_number:
            shown = {**shown, "sequence_number": shown["sequence_number"] + kind.first_number}
        return _order_own(shown) if kind.sends_whole_texts else shown

    def _show_for_azure(self, response: Json) -> Json:
        named = {**response, "model": self.origin.get("model", response["model"])}
        return {**_add_filters(named, NOT_IN_AZURE), "output": response["output"]}

    def _show_in_stream(self, response: Json) -> Json:
        """Show a response as the model returned it, except for the place of the conversation (recorded 2026-03-31).

        Recorded: with an agent, `tool_choice` is the request's, null if it has none.
        """
        full = _add_filters({**response, **self._shape_parts(response)}, NOT_IN_PROJECT_STREAM, moved="conversation")
        if "agent" in self.origin:
            full["tool_choice"] = self.origin.get("tool_choice")
        named = self._name_agent()
        order = ("agent_reference", "agent", "agent_session_id")
        return full | {name: named[name] for name in order if named.get(name) is not None}

    def _show_as_json(self, response: Json) -> Json:
        given = {"conversation": None, **response, **self._shape_parts(response), **self._name_agent()}
        null = "context" if self.day >= NULL_CONTEXT_SINCE else ""
        reasoning = {name: value for name, value in given["reasoning"].items() if value is not None or name == null}
        given["reasoning"] = pick(reasoning, *REASONING_ORDER) | reasoning
        if filters := _content_filters(response):
            given["content_filters"] = [_order_filter(result) for result in filters]
        # Whole numbers elsewhere are rare, so that one search of all members will do.
        given["temperature"], given["top_p"] = write_numbers(given["temperature"]), write_numbers(given["top_p"])
        return show_members(given, PROJECT_RESPONSE, self.day)

    def _show_own(self, response: Json) -> Json:
        has_ended = response["status"] in ("completed", "incomplete")
        given = {
            **response,
            **VALUES_OF_KIND[self.kind.name],
            **self._name_agent(),
            "response_id": response["id"],
            "output": [*map(self.show_item, response["output"])],
            "output_text": "" if has_ended else None,
            "usage": _NO_USAGE if has_ended else None,
        }
        if self.kind.sends_whole_texts:
            given["completed_at"] = response["created_at"]
        return show_members(given, RESPONSE_OF_KIND[self.kind.name], self.day)

    def _name_agent(self) -> Json:
        """Return the members that name the agent, null without one."""
        agent, is_old = self.origin.get("agent"), self.day < REWRITTEN
        named = {"agent_reference": None if is_old else agent}
        if agent and (is_old or self.origin.get("is_preview")):
            named["agent"] = {**agent, "type": "agent_id"}
        if "agent_session_id" in self.origin:
            named["agent_session_id"] = self.origin["agent_session_id"]
        return named

    def _shape_parts(self, response: Json) -> Json:
        """Return a response's items, tools, format and usage in a project's form, and its deployment."""
        shaped = {"model": self.origin.get("model", response["model"])}
        if response.get("prompt_cache_retention"):
            shaped["prompt_cache_retention"] = self.origin.get("prompt_cache_retention") or DEFAULT_RETENTION
        # The member was there before, but always null.
        if self.day < CONTEXT_SINCE:
            shaped["reasoning"] = {**response["reasoning"], "context": None}
        usage = response["usage"]
        if "format" in (text := response["text"]):
            shaped["text"] = {**text, "format": shape(text["format"], self.day)}
        if tools := response["tools"]:
            shaped["tools"] = write_numbers(shape([order_tool(tool) for tool in tools], self.day))
        return {
            **shaped,
            "output": [*map(self.show_item, response["output"])],
            "usage": usage and show_usage(usage),
        }

    def show_item(self, item: Json) -> Json:
        """Show an item with the agent and response that made it; a client's item has no response."""
        if not self.id:
            return show_item(item, self.day)
        agent, is_old = self.origin.get("agent"), self.day < REWRITTEN
        made: Json = {}
        is_told = self.day >= CREATED_BY_SINCE and (is_old or self.origin.get("is_preview"))
        if is_told and not item.get("created_by"):
            by = {"agent": {**agent, "type": "agent_id"}} if agent else {}
            made["created_by"] = {**by, "response_id": self.id}
        if not is_old:
            made |= {"agent_reference": agent} if agent else {}
            made["response_id"] = self.id
        shown = show_item({**item, **made}, self.day)
        if self.kind is HOSTED:
            shown |= {name: shown.pop(name) for name in HOSTED_ITEM_END if name in shown}
        if self.kind.sends_whole_texts and isinstance(content := shown.get("content"), list):
            shown["content"] = [omit(part, "logprobs") for part in content]
        return shown


_PARTITION_LENGTH = 18


def _listed_usage(usage: Json | None) -> Json | None:
    """Rename the details of a usage as the list does: under names that OpenAI lacks, next to nulls under the usual."""
    if usage is None:
        return None
    counts = show_usage(usage)
    nulls: Json = {"input_tokens_details": None, "output_tokens_details": None}
    return {
        **counts,
        **nulls,
        "input_token_details": counts["input_tokens_details"],
        "output_token_details": counts["output_tokens_details"],
    }


def _order_filter(result: Json) -> Json:
    """Order a filter result as a project does in JSON. Recorded 2026-07-01."""
    return {
        "blocked": result["blocked"],
        "source_type": result["source_type"],
        "content_filter_results": _order_results(result["source_type"], result["blocked"]),
        "content_filter_raw": result["content_filter_raw"],
        "content_filter_offsets": result["content_filter_offsets"],
    }


@lru_cache(maxsize=8)
def _order_results(source: str, blocked: bool) -> Json:
    results = category_results(source, ("violence",) if blocked else ())
    return {name: pick(results[name], *CATEGORY_ORDER) for name in CATEGORY_ORDER if name in results}


_NO_USAGE: Json = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}
"""The usage of a workflow agent."""


def _add_filters(response: Json, left_out: frozenset[str], moved: str = "") -> Json:
    """Add content filter results to a response, drop some members, and put the `moved` member after them."""
    shown: Json = {}
    for name, value in response.items():
        if name not in left_out and name != moved:
            shown[name] = value
        if name == "completed_at":
            shown["content_filters"] = _content_filters(response)
            shown |= pick(response, moved)
    return shown


def _content_filters(response: Json) -> Any:
    """Return the filters' findings in prompt and completion; None for a response that has not ended or has failed."""
    usage, details = response["usage"], response["incomplete_details"] or {}
    if usage is None:
        return None
    cut = details.get("reason") == "content_filter"
    return [
        filter_result("prompt", (), CHARACTERS_PER_TOKEN * usage["input_tokens"]),
        filter_result("completion", ("violence",) if cut else (), CHARACTERS_PER_TOKEN * usage["output_tokens"]),
    ]


def join_deltas(events: Sequence[Json]) -> list[Json]:
    """Rewrite events with each text in a single delta, numbered from 0."""
    joined: list[Json] = []
    for event in events:
        before = joined[-1] if joined else {}
        if event["type"].endswith(".delta") and _place_of(event) == _place_of(before):
            joined[-1] = {**before, "delta": before["delta"] + event["delta"]}
        else:
            joined.append(event)
    return [{**event, "sequence_number": number} for number, event in enumerate(joined)]


def _place_of(event: Json) -> tuple[object, ...]:
    return tuple(event.get(name) for name in ("type", "output_index", "content_index", "summary_index"))


def _order_own(event: Json) -> Json:
    """Order the members of an event as such a stream does, without `obfuscation`."""
    shown = pick(event, *OWN_EVENT_ORDER)
    shown |= omit(event, *OWN_EVENT_ORDER, "logprobs", "obfuscation")
    return shown | ({"logprobs": event["logprobs"]} if "logprobs" in event else {})
