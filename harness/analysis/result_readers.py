"""`Surface`: the common form in which results of any framework are compared with the model's replies.

A reader is a function that turns a result into a `Surface`. It is registered for classes by package and name, so that
no framework is imported. Any other object can describe itself:

    def __surfaced__(self): return {"text": self.answer, "annotations": self.sources}

The API's own JSON, or an object that dumps to it, is read here: that of the `openai` SDK, LiteLLM, a server under test.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from harness.analysis.collect_replies import ITEM_TYPES
from harness.api.responses import END_EVENTS
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.json_values import without_nulls
from harness.core.registry import Registry
from harness.core.replies import annotations_of, sum_token_counts, text_parts
from harness.core.text import show

PARTS = ("text", "annotations", "calls", "reasoning", "usage")
LIST_PARTS = ("annotations", "calls")
PART_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("text", "reasoning"), (str,)),
    **dict.fromkeys(LIST_PARTS, (list, tuple)),
    "usage": (Mapping,),
    **dict.fromkeys(("ids", "kinds"), (list, tuple, set, frozenset)),
}
EXPECTED_FORM = "Text and reasoning are strings, annotations and calls are lists of objects, usage is an object."
HIDDEN_MEMBERS = ("raw_representation",)
"""Members in which a framework stores the raw response; they are not part of the surface."""


@dataclass(frozen=True, slots=True)
class Surface:
    """The parts of a result; None for a part that it cannot express.

    `annotations` are objects of any form, `calls` have a `name` and `arguments` (a JSON string or an object), `usage`
    has token counts under the names of any API. `ids` are the ids of the responses, runs and messages that the result
    names, `kinds` the types of annotation that it can express, None for all.
    """

    text: str | None = None
    annotations: Sequence[Json] | None = None
    calls: Sequence[Json] | None = None
    reasoning: str | None = None
    usage: Mapping[str, Any] | None = None
    ids: frozenset[str] = frozenset()
    kinds: frozenset[str] | None = None


Reader = Callable[[Any], Any]
"""Returns the surface of a result, or another result to be read in its place."""
Joiner = Callable[[Sequence[Any]], Any]
"""Joins the pieces of a stream into one result."""
READERS: Registry[Reader] = Registry("reader of")
"""Readers by top-level package and class of the result: `agents.RunResult`."""
JOINERS: Registry[Joiner] = Registry("joiner of")
"""Joiners by top-level package and class of a piece."""
F = TypeVar("F", bound=Callable[..., Any])


def register_reader(*classes: str) -> Callable[[Reader], Reader]:
    """Register a reader for these classes, each given by its top-level package and its name."""
    return _register_in(READERS, classes)


def register_joiner(*classes: str) -> Callable[[Joiner], Joiner]:
    """Register a joiner for pieces of these classes; its result must be readable by a reader."""
    return _register_in(JOINERS, classes)


def _register_in(registry: Registry[F], classes: Sequence[str]) -> Callable[[F], F]:
    def register(function: F) -> F:
        for name in classes:
            registry.add(name, function, function.__module__)
        return function

    return register


def find_registered(registry: Registry[F], result: Any) -> F | None:
    """Find the entry for the class of a result, or for its nearest base class; None if neither is registered."""
    for base in type(result).__mro__:
        name = f"{base.__module__.partition('.')[0]}.{base.__name__.partition('[')[0]}"
        if name in registry:
            return registry[name]
    return None


def surface_from_mapping(members: Mapping[str, Any]) -> Surface:
    """Build the surface that a mapping describes. ConfigError for an unknown member or a wrong type."""
    known = [field.name for field in fields(Surface)]
    if unknown := [name for name in members if name not in known]:
        raise ConfigError(f"surfaced(): {show(unknown[0])} is not a part of a result. It has {', '.join(PARTS)}.")
    values: dict[str, Any] = without_nulls(members)
    for name, value in values.items():
        inside: Sequence[Any] = value if name in LIST_PARTS and isinstance(value, list | tuple) else ()
        if not isinstance(value, PART_TYPES[name]) or not all(isinstance(element, Mapping) for element in inside):
            raise ConfigError(f"surfaced(): {name} is {show(value)}. {EXPECTED_FORM}")
    return Surface(**values | {name: frozenset(values[name]) for name in ("ids", "kinds") if name in values})


def merge_surfaces(surfaces: Iterable[Surface]) -> Surface:
    """Merge surfaces into one: concatenate texts and lists, add usages."""
    every = list(surfaces)

    def each(name: str) -> list[Any] | None:
        return [value for surface in every if (value := getattr(surface, name)) is not None] or None

    texts, thoughts, usages = each("text"), each("reasoning"), each("usage")
    notes, calls, kinds = each("annotations"), each("calls"), each("kinds")
    # An annotation of unrestricted kind shows that the merged result can express every kind.
    if any(surface.annotations and surface.kinds is None for surface in every):
        kinds = None
    return Surface(
        text=None if texts is None else "".join(texts),
        annotations=None if notes is None else [note for some in notes for note in some],
        calls=None if calls is None else [call for some in calls for call in some],
        reasoning=None if thoughts is None else "".join(thoughts),
        usage=None if usages is None else sum_token_counts(usages),
        ids=frozenset().union(*(surface.ids for surface in every)),
        kinds=None if kinds is None else frozenset().union(*kinds),
    )


def to_plain_json(thing: Any) -> Any:
    """Convert a framework's object to plain JSON, without the raw responses in it; other values are unchanged."""
    if isinstance(thing, Mapping):
        return {
            name: to_plain_json(value)
            for name, value in thing.items()
            if name not in HIDDEN_MEMBERS and value is not None
        }
    if isinstance(thing, list | tuple | set | frozenset):
        return [to_plain_json(value) for value in thing]
    if thing is None or isinstance(thing, str | int | float | bytes):
        return thing
    if hasattr(thing, "model_dump"):
        with warnings.catch_warnings():
            # Models of SDKs warn about members that they do not know, which is not this test's concern.
            warnings.simplefilter("ignore")
            return to_plain_json(thing.model_dump(mode="json"))
    return to_plain_json(vars(thing)) if hasattr(thing, "__dict__") else str(thing)


def get_member(thing: Any, name: str, default: Any = None) -> Any:
    """Get a member of a mapping or an attribute of an object; the default if it is None or missing."""
    value = thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    return default if value is None else value


ANNOTATION_ADDED = "response.output_text.annotation.added"
USAGE_HINT = (
    "Pass a text, the result of a framework, a mapping {'text': …, 'annotations': …, 'calls': …, 'reasoning': …, "
    "'usage': …}, or an object with a `__surfaced__()` that returns one."
)
COMPLETION_ANNOTATIONS = frozenset({"url_citation"})


def read(result: Any) -> Surface:
    """Read the surface of a result. ConfigError if no reader recognizes it."""
    try:
        return _read_result(result)
    except (AttributeError, IndexError, KeyError, TypeError) as problem:
        raise ConfigError(
            f"surfaced(): {_describe_type(result)} has an unexpected structure: {show(problem)}. {USAGE_HINT}"
        ) from problem


def _describe_type(result: Any) -> str:
    return f"a {type(result).__module__}.{type(result).__qualname__}"


def _read_result(result: Any) -> Surface:
    # A class that describes itself takes precedence over any guess from its form.
    if hasattr(result, "__surfaced__"):
        return surface_from_mapping(result.__surfaced__())
    if isinstance(result, str):
        return Surface(text=result)
    if reader := find_registered(READERS, result):
        return _read_if_needed(reader(result))
    if isinstance(result, list | tuple):
        return _read_list(result)
    if isinstance(result, Mapping) and isinstance(result.get("messages"), list):
        return _read_list(result["messages"])
    if isinstance(result, Mapping) or hasattr(result, "model_dump"):
        return _read_object(to_plain_json(result))
    raise ConfigError(f"surfaced(): unsupported result {_describe_type(result)}. {USAGE_HINT}")


def _read_if_needed(result: Any) -> Surface:
    """Return the surface that a reader returned, or read the result that it returned instead."""
    return result if isinstance(result, Surface) else read(result)


def _read_list(results: Sequence[Any]) -> Surface:
    """Read the surface of a joined stream if the list holds its pieces, else the merged surfaces of its results."""
    if not results:
        return Surface(text="")
    # A list of strings is taken for the deltas of one stream.
    if all(isinstance(result, str) for result in results):
        return Surface(text="".join(results))
    if joiner := find_registered(JOINERS, results[0]):
        return _read_if_needed(joiner(results))
    wire = [to_plain_json(result) for result in results if isinstance(result, Mapping) or hasattr(result, "model_dump")]
    if wire and len(wire) == len(results) and _is_event(wire[0]):
        return _read_events(wire)
    return merge_surfaces(read(result) for result in results)


def _is_event(thing: Any) -> bool:
    kind = thing.get("event") or thing.get("type") or thing.get("object")
    # A thread message is no event, though its `object` begins with `thread.`; it has a role.
    return str(kind).startswith(("response.", "thread.", "chat.completion.chunk")) and thing.get("role") is None


def _read_object(thing: Json) -> Surface:
    kind = thing.get("object")
    if kind == "response":
        own = Surface(usage=thing.get("usage"), ids=frozenset({thing.get("id") or ""}))
        return merge_surfaces([read_items(thing.get("output") or ()), own])
    if kind == "thread.message":
        return _read_thread_message(thing)
    if "choices" in thing:
        return _read_completion(thing)
    if kind == "list" and isinstance(thing.get("data"), list):  # newest first
        return _read_list([element for element in reversed(thing["data"]) if element.get("role") != "user"])
    if thing.get("type") in (*ITEM_TYPES["messages"], *ITEM_TYPES["calls"], *ITEM_TYPES["reasoning"]):
        return read_items([thing])
    return surface_from_mapping(thing)


def read_items(output: Iterable[Any]) -> Surface:
    """Read the surface of the output items of a response."""
    items = [to_plain_json(item) for item in output]
    messages = [
        item for item in items if item.get("type") == "message" and item.get("role", "assistant") == "assistant"
    ]
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    return Surface(
        text="".join(text for item in messages for text, _ in text_parts(item)),
        annotations=[note for item in messages for note in annotations_of(item)],
        calls=[item for item in items if item.get("type") in ITEM_TYPES["calls"]],
        reasoning="".join(text for item in thoughts for text, _ in text_parts(item)),
    )


def _read_thread_message(message: Json) -> Surface:
    """Read the surface of a thread message; empty for a user message."""
    if message.get("role") == "user":
        return Surface(text="")
    content = message.get("content") or ()
    texts = [part["text"] for part in content if part.get("type") == "text"]
    refused = [part["refusal"] for part in content if part.get("type") == "refusal"]
    cited = [note for text in texts for note in text.get("annotations") or ()]
    ids = frozenset({message.get("id") or ""})
    return Surface(text="".join([*(text.get("value") or "" for text in texts), *refused]), annotations=cited, ids=ids)


def _read_completion(thing: Json) -> Surface:
    message = thing["choices"][0].get("message") or {}
    return Surface(
        text=message.get("content") or message.get("refusal") or "",
        annotations=message.get("annotations") or [],
        calls=[call.get("function") or call.get("custom") or call for call in message.get("tool_calls") or ()],
        reasoning=message.get("reasoning_content"),
        usage=thing.get("usage"),
        ids=frozenset({thing.get("id") or ""}),
        kinds=COMPLETION_ANNOTATIONS,
    )


def _read_events(events: Sequence[Json]) -> Surface:
    if "event" in events[0]:
        return _read_thread_events(events)
    if events[0].get("object") == "chat.completion.chunk":
        return _read_chunks(events)
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    cited = [event["annotation"] for event in events if event["type"] == ANNOTATION_ADDED]
    done = read_items(event["item"] for event in events if event["type"] == "response.output_item.done")
    ended = [event["response"] for event in events if event["type"] in END_EVENTS]
    return Surface(
        # A client may forward only the deltas, or only the finished items.
        text="".join(deltas) if deltas else done.text,
        annotations=cited or done.annotations,
        calls=done.calls,
        reasoning=done.reasoning,
        usage=merge_surfaces(Surface(usage=response.get("usage")) for response in ended).usage,
        ids=frozenset(response.get("id") or "" for response in ended),
    )


def _read_thread_events(events: Sequence[Json]) -> Surface:
    deltas = [event["data"]["delta"] for event in events if event["event"] == "thread.message.delta"]
    collected = _read_thread_message({"content": [part for delta in deltas for part in delta.get("content") or ()]})
    messages = [_read_thread_message(event["data"]) for event in events if event["event"] == "thread.message.completed"]
    ended = merge_surfaces(messages)
    return Surface(
        text=collected.text or ended.text or "", annotations=collected.annotations or ended.annotations, ids=ended.ids
    )


def _read_chunks(chunks: Sequence[Json]) -> Surface:
    deltas = [choice.get("delta") or {} for chunk in chunks for choice in chunk.get("choices") or ()]
    calls: dict[int, Json] = {}
    for call in (call for delta in deltas for call in delta.get("tool_calls") or ()):
        known, more = calls.setdefault(call["index"], {"name": "", "arguments": ""}), call.get("function") or {}
        # The arguments come in pieces; only the first one has the name.
        known |= {name: known[name] + (more.get(name) or "") for name in known}
    thoughts = [delta["reasoning_content"] for delta in deltas if delta.get("reasoning_content")]
    return Surface(
        text="".join(delta.get("content") or "" for delta in deltas),
        annotations=[note for delta in deltas for note in delta.get("annotations") or ()],
        calls=list(calls.values()),
        reasoning="".join(thoughts) if thoughts else None,
        usage=next((chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), None),
        ids=frozenset(chunk.get("id") or "" for chunk in chunks),
        kinds=COMPLETION_ANNOTATIONS,
    )
