"""Runs the model: takes the script's next turn, renders the items of the response, and counts their usage.

An output is cut only where it certainly exceeds `max_output_tokens`, not by an estimate of its tokens.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from harness.analysis.call_ledger import APPROVAL_TYPES, concerns_approvals
from harness.analysis.prompt_prefix import find_withheld, read_thoughts
from harness.answers.parameters import items_of_day
from harness.answers.prompt import Prompt
from harness.api.encrypted_content import ContentOwner, make_encrypted_content
from harness.api.project_types import PROMPT, NamedAgent
from harness.api.resources.containers import CODE_CALL
from harness.api.responses import FullItem, filter_item
from harness.api.tokens import count_words, make_usage
from harness.api.tools import all_tools, declared_tools, namespace_of
from harness.contract.rules.request.account_limits import exceeds_window
from harness.core.exchange import EMPTY_MAPPING, Json
from harness.core.json_values import objects_in, omit
from harness.ending import Ending, failed, incomplete, split_ending
from harness.items.agents import ROOT_AGENT, by_agent
from harness.items.kind import ITEMS, Item, id_prefix, render_item
from harness.items.transcript import Transcript
from harness.world.api_call import ApiCall
from harness.world.mcp_server import name_approvals
from harness.world.prompt_cache import LEAST_TOKENS, CachedPrompt
from harness.world.prompt_cache_misses import diagnose
from harness.world.script import PlayedTurn
from harness.world.store import PendingResponse, Store
from harness.world.world import World

_UNAVAILABLE: Json = {"type": "unavailable"}
"""The diagnostics of a prompt that is too small (recorded), and in comparison with a response in progress (documented)."""
TEXT_PREFIX = id_prefix("message")
_IS_TEXT, _TEXT_TOKENS = attrgetter("is_text"), attrgetter("text_tokens")
_WORD = re.compile(r"\S+")
MAX_TOKENS_MEMBERS = incomplete("max_output_tokens").members
_CLIENT_TOOLS = {"function_call": "function", "custom_tool_call": "custom"}
OVERFLOW = PlayedTurn([failed("context_length_exceeded")])
"""The answer of a stream to input that exceeds the model's context window."""


PREWARMED = PlayedTurn(())
"""The answer to a request that only prepares the cache."""


class ModelTurn(NamedTuple):
    """The items of a turn, the response's ending, and the lines held back until the calls in the turn are approved.

    `is_text` says whether the turn consists of text messages only.
    """

    played: PlayedTurn
    items: Sequence[Item]
    ending: Ending
    awaiting_approval: PlayedTurn | None
    is_text: bool


def take_turn(prompt: Prompt, call: ApiCall) -> ModelTurn:
    """Take the turn that answers a prompt; NoTurn if no turn does, ScriptError if no model could answer like that."""
    taken, waiting = _take_lines(prompt, call)
    scripted, ending = split_ending(taken.lines)
    is_text = all(map(_IS_TEXT, scripted))
    items = scripted if is_text else name_approvals(scripted, prompt.transcript)
    # Most turns are of text, which answers any request that does not ask for a form of it, or for a call.
    if not is_text or prompt.body.get("text") or prompt.body.get("tool_choice"):
        taken.check(prompt.body, items, ending, lambda: prompt.transcript.items)
    return ModelTurn(taken, items, ending, waiting, is_text)


def _take_lines(prompt: Prompt, call: ApiCall) -> tuple[PlayedTurn, PlayedTurn | None]:
    world = call.world
    # The rule about the window lets streams pass: the API begins them, and they fail.
    if prompt.body.get("stream") and exceeds_window(call.request, call.family):
        return OVERFLOW, None
    if (prompt.body.get("prompt_cache_options") or {}).get("prewarm"):
        return PREWARMED, None
    if not world.mcp_servers.by_label:
        return world.script.next(call), None
    taken, waiting = world.mcp_servers.plan_turn(prompt.body, prompt.transcript.items, lambda: world.script.next(call))
    world.script.note_taken(taken)
    return taken, waiting


def run_model(prompt: Prompt, turn: ModelTurn, world: World, agent: NamedAgent | None) -> PendingResponse:
    """Make the response to a prompt from a turn, and advance the World's clock."""
    now = world.tick()
    parent = prompt.body.get("previous_response_id") or prompt.conversation
    id = world.ids.response(now, parent, (agent.kind if agent else PROMPT).id_prefix)
    started = {**prompt.settings.initial_response, "id": id, "created_at": now}
    rendered, ending = _render_output(prompt, turn, id, now, world)
    if "" < prompt.settings.family.withholds <= world.as_of:
        started = _withhold_reasoning(started, prompt, rendered, world)
    usage = make_usage(prompt.tokens, rendered, _find_spent(prompt.body, turn, ending))
    usage, diagnostics = _use_cache(prompt, id, rendered, usage, world)
    if own := turn.ending.own:
        started |= omit(own, "usage")
        ending = replace(ending, own=own)
    return PendingResponse(
        started,
        items_of_day(rendered, world.as_of),
        usage,
        world.add_item_ids(prompt.own_input, id, now),
        prompt.transcript.stored,
        prompt.conversation,
        bool(started.get("background")) or not (started["store"] is False or world.account.zdr),
        replace(ending, members={**ending.members, **diagnostics}) if diagnostics else ending,
    )


def _withhold_reasoning(started: Json, prompt: Prompt, output: Sequence[Json], world: World) -> Json:
    """List in a response the reasoning that the model did not get, and remember how its own was said."""
    body, family = prompt.body, prompt.settings.family
    items = [*prompt.transcript.stored, *prompt.own_input]
    if any(item["type"] == "reasoning" for item in output):
        world.store.thoughts.update(read_thoughts(body, family, items, output))
    if "reasoning" not in prompt.transcript.types:
        return started
    withheld = find_withheld(body, family, items, world.account.name, world.store.thoughts)
    if not withheld:
        return started
    members = list(started.items())
    place = list(started).index("instructions")  # members are in alphabetical order
    return dict([*members[:place], ("input_transformations", withheld), *members[place:]])


def note_approvals(prompt: Prompt, turn: ModelTurn, pending: PendingResponse, world: World) -> None:
    """Record the approvals in a request and its response, and the lines that wait for them."""
    if turn.awaiting_approval:
        world.mcp_servers.hold_for_approval(pending.output, turn.awaiting_approval)
    if turn.is_text and APPROVAL_TYPES.isdisjoint(prompt.transcript.added_by_type):
        return  # most turns
    if turn.played is not OVERFLOW and concerns_approvals([*prompt.own_input, *pending.output]):
        number = world.exchange_count + 1
        world.approval_ledger.add_exchange(number, pending.previous, pending.own_input, pending.output)


def _render_output(prompt: Prompt, turn: ModelTurn, id: str, now: int, world: World) -> tuple[Sequence[Json], Ending]:
    """Render the output of a turn in the response `id`; returns it with the ending."""
    body, has_agents = prompt.body, prompt.settings.has_agents
    if turn.is_text and not has_agents:
        texts = [{**item.render_text(), "id": world.ids.item(TEXT_PREFIX, id, now)} for item in turn.items]
        return _limit_output(body, texts, turn.ending)
    joined = _join_results(turn.items, world)
    placed = _place_calls(_name_agents(joined) if has_agents else joined, body, prompt.transcript, world)
    loading = prompt.transcript.that_may_load_tools
    items = [_complete_call(render_item(item, world.ids, id, now), body, loading) for item in placed]
    limited, ending = _limit_output(body, items, turn.ending)
    return _complete_output(limited, body, prompt.settings.family.encrypts, now, world), ending


def _limit_output(body: Json, items: list[Json], ending: Ending) -> tuple[list[Json], Ending]:
    """Cut the output to what the request allows; returns it with the response's ending."""
    if (limit := body.get("max_output_tokens")) is not None:
        items, ending = _fit_output(items, ending, limit)
    if ending.status != "completed":
        items[-1:] = [_mark_incomplete(item) for item in items[-1:]]
    return items, ending


def _complete_output(items: Sequence[Json], body: Json, encrypts: bool, now: int, world: World) -> list[Json]:
    """Add encrypted content to an output, apply the request's `include`, and create the containers that it uses."""
    include = body.get("include") or ()
    encrypted = "reasoning.encrypted_content" in include or encrypts
    output = _apply_include(_add_encrypted_content(items, encrypted, now, world), include, world.store)
    _note_containers(body, output, world)
    return output


def _add_encrypted_content(output: Sequence[Json], included: bool, now: int, world: World) -> Sequence[Json]:
    """Return output with encrypted reasoning if the request includes it; ciphertexts from scripts are now accepted.

    A ciphertext of None is always generated.
    """
    for item in output:
        if text := item.get("encrypted_content"):
            # A script may replay a recorded ciphertext, which the client then sends back.
            world.store.encrypted_contents[text] = item["id"]
    return [
        _encrypt_item(item, world.account.name, now)
        if (included and item["type"] == "reasoning") or item.get("encrypted_content", "") is None
        else item
        for item in output
    ]


def _encrypt_item(item: Json, account: str, now: int) -> Json:
    text = item.get("encrypted_content") or make_encrypted_content(ContentOwner(account, item["id"]), now)
    made, head = {**item, "encrypted_content": text}, {name: item[name] for name in ("id", "type")}
    return head | {name: made[name] for name in sorted(made) if name not in head}


def _apply_include(output: Sequence[Json], include: Sequence[str], store: Store) -> list[Json]:
    """Return output as a request with this `include` shows it; the full items are stored for a later `include`."""
    shown = [filter_item(item, include) for item in output]
    for full, item in zip(output, shown, strict=True):
        if item is not full:
            store.unfiltered_items[full["id"]] = FullItem(full, include)
    return shown


def _name_agents(turn: Sequence[Item]) -> Sequence[Item]:
    """Set the agent of each item in a response, and the phase of a message (assumed: that of a final answer)."""
    named = [item if "agent" in item.members else by_agent(ROOT_AGENT, item) for item in turn]
    return [
        replace(item, members={**item.members, "phase": "final_answer"})
        if item.type == "message" and "phase" not in item.members
        else item
        for item in named
    ]


def _join_results(turn: Sequence[Item], world: World) -> Sequence[Item]:
    """Assign one `call_id` to a call that the API executes and the next result that names no call."""
    joined = list(turn)
    for place, item in enumerate(turn):
        call_type = ITEMS.find(item.type).result_of
        if not call_type or item.members["call_id"] is not None:
            continue
        open_calls = [index for index, earlier in enumerate(joined[:place]) if earlier.type == call_type]
        if open_calls:
            # A result belongs to the nearest call before it.
            at = open_calls[-1]
            id = joined[at].members["call_id"] or world.ids.call()
            for position in (at, place):
                joined[position] = replace(joined[position], members={**joined[position].members, "call_id": id})
    return joined


def _place_calls(turn: Sequence[Item], body: Json, transcript: Transcript, world: World) -> list[Item]:
    """Set the container of code calls: all calls of a response that name none share one."""
    # Without such a call nothing is made: a new container would change the ids that follow.
    if not [True for item in turn if item.type == CODE_CALL and item.members["container_id"] is None]:
        return list(turn)
    id = world.containers.of_next_call(body.get("tools") or (), transcript.items_from_first(CODE_CALL))
    return [
        replace(item, members={**item.members, "container_id": id})
        if item.type == CODE_CALL and item.members["container_id"] is None
        else item
        for item in turn
    ]


def _note_containers(body: Json, output: Sequence[Json], world: World) -> None:
    """Create the containers and files that an output names, with copies of the tool's own files."""
    declared = [tool.get("container") for tool in body.get("tools") or () if tool["type"] == "code_interpreter"]
    settings = next(iter(objects_in(declared)), {})
    for id in world.containers.note_output(output, settings):
        for file in [file for id in settings.get("file_ids") or () if (file := world.uploads.file(id))]:
            world.copy_to_container(id, file)


def _find_spent(body: Json, turn: ModelTurn, ending: Ending) -> int | None:
    """Return an output's tokens if known without counting: for text messages, or at the `max_output_tokens` limit."""
    limit: int | None = body.get("max_output_tokens")
    if limit is None:
        return sum(map(_TEXT_TOKENS, turn.items)) if turn.is_text else None
    return limit if ending.members == MAX_TOKENS_MEMBERS else None


def _use_cache(
    prompt: Prompt, id: str, output: Sequence[Json], usage: Json, world: World
) -> tuple[Json, Mapping[str, Json]]:
    """Add the cached tokens of its prompt to the usage of the response `id`; also return the diagnostics it asks for."""
    compared = (prompt.body.get("prompt_cache_options") or {}).get("comparison_response_id")
    diagnostics = _UNAVAILABLE
    # Most prompts are shorter, and cost nothing here.
    if usage["total_tokens"] >= LEAST_TOKENS:
        cache = world.prompt_cache
        use = cache.use(prompt, output, world.now, world.as_of)
        usage = {**usage, "input_tokens_details": use.details(world.as_of)}
        cached = CachedPrompt(world.exchange_count + 1, world.now, prompt, use, output)
        cache.remember(id, cached)
        if compared and compared not in world.store.pending and prompt.tokens >= LEAST_TOKENS:
            diagnostics = diagnose(cached, cache.prompts.get(compared))
    return usage, {"prompt_cache_diagnostics": diagnostics} if compared else EMPTY_MAPPING


def _mark_incomplete(item: Json) -> Json:
    """Mark the last item of a response that did not complete, if its kind has a status."""
    return {**item, "status": "incomplete"} if item.get("status") == "completed" else item


def _complete_call(item: Json, body: Json, read: Sequence[Json]) -> Json:
    """Add the namespace and `async` to a call as its tool declares them, unless the script sets them."""
    if (kind := _CLIENT_TOOLS.get(item["type"])) is None:
        return item
    declared = declared_tools(body)
    if "async" not in item and any(
        tool.get("async") for tool in all_tools(declared) if (tool["type"], tool.get("name")) == (kind, item["name"])
    ):
        item = {**item, "async": True}
    if kind != "function" or "namespace" in item:
        return item
    space = namespace_of(item["name"], declared, read)
    return {**item, "namespace": space} if space else item


def _fit_output(output: list[Json], ending: Ending, limit: int) -> tuple[list[Json], Ending]:
    """Cut an output to no more words than the request allows tokens; returns it with its ending.

    No token spans two words, so no model could have finished a text of more words than `limit`. Only texts of messages
    are counted and cut, and only in a response that would have been completed.
    """
    left = limit
    for number, item in enumerate(output if ending.status == "completed" else ()):
        if item["type"] == "message":
            if (own := count_words((item,))) > left:
                return [*output[:number], _cut_message(item, left)], incomplete()
            left -= own
    return output, ending


def _cut_message(message: Json, left: int) -> Json:
    parts: list[Json] = []
    for part in message["content"]:
        name = "refusal" if part["type"] == "refusal" else "text"
        ends = [word.end() for word in _WORD.finditer(part[name])]
        if left <= 0:
            break
        parts.append(part if len(ends) <= left else _cut_part(part, name, ends[left - 1]))
        left -= len(ends)
    return {**message, "status": "incomplete", "content": parts}


def _cut_part(part: Json, name: str, length: int) -> Json:
    made = {**part, name: part[name][:length]}
    if part.get("annotations"):
        made["annotations"] = [note for note in part["annotations"] if _annotation_end(note) <= length]
    if part.get("logprobs"):
        made["logprobs"] = list(_cut_logprobs(part["logprobs"], length))
    return made


def _annotation_end(note: Json) -> int:
    return int(note.get("end_index", note.get("index")) or 0)


def _cut_logprobs(entries: Sequence[Json], length: int) -> Iterator[Json]:
    ends = accumulate(len(entry["token"]) for entry in entries)
    return (entry for entry, end in zip(entries, ends, strict=True) if end <= length)
