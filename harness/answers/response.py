"""The response object: all members as of 2026-10 with their defaults, and the echo of the request."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from harness.answers.parameters import RESULT_SINCE, default_parameters, echo_request
from harness.api.models import FALLBACK_FAMILY, MODELS, Model, Models
from harness.api.tokens import set_usage
from harness.contract.check import check_answer
from harness.core.exchange import Finding, Json
from harness.core.ids import Ids
from harness.core.json_values import without_nulls
from harness.core.registry import suggest_name
from harness.core.text import shorten, show
from harness.ending import DEFAULT_ENDING, Ending
from harness.items.kind import Item, has_listed_status, render_item
from harness.items.message import PART_DEFAULTS
from harness.items.transcript import input_items

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


BILLING: Json = {"billing": {"payer": "developer"}}
_FINAL_TIERS: Mapping[str, str] = {"auto": "default", "fast": "priority"}
"""The final service tier by the requested one; other tiers stay unchanged."""

PROMPT_TEMPLATE_MODEL = "gpt-4.1"
"""The model of a request that names a prompt template instead."""


def build_initial_response(
    body: Json,
    *,
    conversation: str | None = None,
    items: Sequence[Json] | None = None,
    models: Models = MODELS,
) -> Json:
    """Build a response as in `response.created`: in progress, without output; its id and time are not yet set.

    `items` is the resolved transcript, by default the request's own input; `models` is the table of model families.
    """
    family = models.defaults(body.get("model") or PROMPT_TEMPLATE_MODEL)
    read = input_items(body) if items is None else items
    # A client first sees all others in their initial state, which has no bill.
    members = _default_members(family, with_bill=not body.get("stream") and not body.get("background"))
    response = {**members, **echo_request(body, family, read)}
    if conversation:
        response["conversation"] = {"id": conversation}
    return response


@lru_cache(maxsize=64)
def _default_members(family: Model, *, with_bill: bool = False) -> Json:
    """Return a response's members without parameters, in wire order; the object is shared and must not be changed."""
    first: Json = {"id": "", "object": "response", "created_at": 0, "status": "in_progress"}
    others: Json = {
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "model": family.snapshot,
        "output": [],
        "tool_usage": TOOL_USAGE,
        "usage": None,
        **(BILLING if with_bill else {}),
        **default_parameters(family),
    }
    last: Json = {"metadata": others.pop("metadata")}
    return {**first, **dict(sorted(others.items())), **last}


def finish_response(
    started: Json, output: Sequence[Json], usage: Json, now: int, ending: Ending = DEFAULT_ENDING
) -> Json:
    """Change `started`, in place, to the ended response with its output.

    Members that answers of its day do not have stay absent. Recorded: a failed response has no usage, and its tier is
    still the requested one.
    """
    started["status"] = ending.status
    started["output"] = list(output)
    if "completed_at" in started:
        started["completed_at"] = now if ending.status == "completed" else None
    if "tool_usage" in started:
        started["tool_usage"] = _count_tool_usage(output)
    own = ending.own
    if ending.status != "failed":
        started["usage"] = set_usage(usage, own["usage"]) if "usage" in own else usage
        if tier := started.get("service_tier"):
            started["service_tier"] = _FINAL_TIERS.get(tier, tier)
    started.update(ending.members)
    if own:
        # The script has the last word on every member; usage was merged above.
        started.update((name, value) for name, value in own.items() if name != "usage")
    return started


DECIDED_BY_MOCK: Mapping[str, str] = {
    **dict.fromkeys(("status", "error", "incomplete_details"), "End the turn with incomplete(…) or failed(…)."),
    "usage": "Pass usage(turn, input_tokens=…).",
    "output": "Pass the items of the turn.",
    **dict.fromkeys(
        ("id", "object", "created_at", "completed_at", "background", "store", "previous_response_id", "conversation"),
        "The mock decides it; add_members(turn, …) changes what is sent.",
    ),
}
"""The members of a response that no script sets, and what to do instead."""


def check_response_members(members: Json) -> str:
    """Describe what is wrong with the members that a script sets in a response; empty if the API could send them."""
    family = MODELS[FALLBACK_FAMILY]
    settable = [name for name in _default_members(family) if name not in DECIDED_BY_MOCK]
    for name in members:
        if name in DECIDED_BY_MOCK:
            return f"response: {name} is not set so. {DECIDED_BY_MOCK[name]}"
        if name not in settable:
            return f"response: no member {show(name)}. {suggest_name(name, settable)}"
    finding = check_answer("Response", {**_default_members(family), "id": "resp_0", **members})
    return f"response: {finding.at}: {shorten(finding.message, 300)}" if finding else ""


def _count_tool_usage(output: Sequence[Json]) -> Json:
    """Count the use of the API's own tools: each web search counts once."""
    calls = [item.get("action") or {} for item in output if item["type"] == "web_search_call"]
    if not calls:
        return TOOL_USAGE
    return {**TOOL_USAGE, "web_search": {"num_requests": sum(action.get("type") == "search" for action in calls)}}


def with_billing(response: Json, day: str) -> Json:
    """Add the day's member `billing` to an ended response that lacks it; any other response is returned unchanged.

    Recorded: it is shown only after the end, and never in a stream.
    """
    if "billing" in response or response["status"] not in ("completed", "incomplete") or day < RESULT_SINCE["billing"]:
        return response
    shown: Json = {}
    for name, value in response.items():
        shown[name] = value
        if name == "background":
            shown |= BILLING
    return shown


def check_item(item: Item) -> Finding | None:
    """Return the first schema violation of an item, at a place in the item; None if the item is valid."""
    wire = render_item(item, Ids("departure"), "resp_0", 0)
    if wire.get("encrypted_content", "") is None:
        wire["encrypted_content"] = "generated when the item is sent"
    response = {**_default_members(MODELS[FALLBACK_FAMILY]), "id": "resp_0", "output": [wire]}
    if (finding := check_answer("Response", response)) is None:
        return None
    place = finding.at.removeprefix("output[0]").removeprefix(".")
    message = finding.message.replace("output[0].", "").replace("required parameter", "member")  # it is no request
    return finding._replace(at=place, message=message if place in message else f"{message} (at {place})")


def render_input_items(items: Iterable[Json]) -> list[Json]:
    """Render items of a request as `GET …/input_items` shows them: typed, strings as parts; without new ids."""
    return [_render_input_item(item) for item in items]


def _render_input_item(item: Json) -> Json:
    if item.get("role") is None or item.get("type", "message") != "message":
        return _render_other_item(item)
    content = item["content"]
    kind = "output_text" if item["role"] == "assistant" else "input_text"
    if isinstance(content, str):
        parts = [{**PART_DEFAULTS.get(kind, {}), "type": kind, "text": content}]
    else:
        parts = _render_parts(content)
    base: Json = {"type": "message", "status": "completed", "content": parts, "role": item["role"]}
    if phase := item.get("phase"):
        base["phase"] = phase
    return {"id": item["id"], **base} if item.get("id") else base


def _render_other_item(item: Json) -> Json:
    listed = dict(item)
    if has_listed_status(item.get("type", "")):
        listed["status"] = item.get("status") or "completed"
    if isinstance(item.get("output"), list):
        listed["output"] = _render_parts(item["output"])
    return listed


def _render_parts(parts: Sequence[Any]) -> list[Any]:
    """Render parts with the members that a list always shows; null members from the client count as absent.

    Anything else, in an item of a kind whose schema does not name parts, stays unchanged.
    """
    return [
        {**PART_DEFAULTS.get(part.get("type", ""), {}), **without_nulls(part)}
        if isinstance(part, dict) and isinstance(part.get("type", ""), str)
        else part
        for part in parts
    ]
