"""Which tool a model without a script calls: one that `tool_choice` demands, or one that the user speaks of.

Of the functions and custom tools that `tool_choice` leaves, the one is taken that the last message of the user fits best:
by its name, else by words of the name, else by distinctive words of the description, else by names and values of its
parameters. A request for a tool without a name gets the first. Others whose names are spoken of are called beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from harness.core.exchange import Json
from harness.core.loose_json import as_object, as_string
from harness.items.history.transcript import input_items
from harness.unscripted.reading import NAMED_TYPES, user_text

_WORD = re.compile(r"[a-z]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_USE_VERBS = r"\b(?:call|calling|invoke|invoking|run|running|use|using)\b"
_TOOL_WANTED = re.compile(rf"{_USE_VERBS}(?: \w+){{0,3}} (?:tool|function)s?\b")
_TOOL_FORBIDDEN = re.compile(
    rf"\b(?:don't|don’t|never|no|not|without)\b(?: \w+){{0,2}}? ?{_USE_VERBS}|\bwithout (?:any )?(?:tool|function)s?\b"
)
_COMMON_WORDS = frozenset(
    (
        *("call", "check", "create", "delete", "execute", "fetch", "find", "from", "function", "handle", "list"),
        *("load", "lookup", "make", "message", "open", "query", "read", "retrieve", "save", "search", "send"),
        *("show", "tool", "update", "user", "using", "with", "write"),
    )
)
"""Common words, which do not identify a tool."""
_GENERAL_WORDS = _COMMON_WORDS | frozenset(
    (
        *("about", "answer", "current", "given", "information", "location", "named", "number", "other", "please"),
        *(
            "provide",
            "question",
            "return",
            "specific",
            "specified",
            "string",
            "value",
            "what",
            "when",
            "where",
            "which",
        ),
    )
)
"""Those of descriptions."""
MIN_WORD_LENGTH = 5
"""Letters of the shortest words of a description that count."""
MIN_PARAMETER_WORDS = 2
"""Words of a tool's parameters that have to be said."""
MAX_PARAMETER_DEPTH, MAX_VALUES = 3, 50
"""How deep parameters are looked at, and how many values of each."""
MAX_CALLS = 4
"""Tools called in one turn."""


def pick_tools(body: Json, declared: Sequence[Json], said: str) -> list[Json]:
    """The tools that the model calls in one turn: the one that fits best, and those whose names are said beside it.

    `declared` and `said` are as for `pick_tool`. Only the first where `parallel_tool_calls` is false, or one is named.
    """
    first = pick_tool(body, declared, said)
    picked = [first] if first else []
    tools, _ = _allowed_tools(body, declared)
    if not first or body.get("parallel_tool_calls") is False:
        return picked
    text = said.lower()
    for tool in tools:
        if len(picked) < MAX_CALLS and all(_are_both_said(tool["name"], other["name"], text) for other in picked):
            picked.append(tool)
    return picked


def _are_both_said(name: str, other: str, text: str) -> bool:
    """Whether both of two names are said, or, if neither is, of each a word that the other has not."""
    if name == other or _is_said(name, text) or _is_said(other, text):
        return name != other and _is_said(name, text) and _is_said(other, text)
    one, two, words = _distinctive_words(name), _distinctive_words(other), frozenset(_WORD.findall(text))
    return bool(_count_shared(one - two, words) and _count_shared(two - one, words))


def _is_said(name: str, text: str) -> bool:
    return len(name) > 2 and re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", text) is not None


def is_final(tool: Json) -> bool:
    """Whether a tool takes the answer that ends a conversation, as clients declare one for structured output."""
    return "final" in _split_words(f"{tool['name']} {tool.get('description') or ''}")


def pick_tool(body: Json, declared: Sequence[Json] | None = None, said: str | None = None) -> Json | None:
    """The tool that the model calls in answer to this request, as it was declared; None when it answers itself.

    `declared` are the tools to pick from, by default the request's own; `said` is what the user wants, by default what the
    last item of the request says.
    """
    own = [tool for tool in body.get("tools") or () if tool.get("type") in NAMED_TYPES]
    tools, choice = _allowed_tools(body, own if declared is None else declared)
    if not tools or choice == "none":
        return None
    text = (user_text(next(reversed(input_items(body)), {})) if said is None else said).lower()
    free = choice == "auto"
    if free and is_forbidden(text):
        return None
    best = max(tools, key=lambda tool: _match_score(tool, text))
    wanted = any(_match_score(best, text)) or bool(_TOOL_WANTED.search(text))
    return best if wanted or not free else None


def is_forbidden(text: str) -> bool:
    """Whether the user, quoted in lower case, wants no tool to be called."""
    return bool(_TOOL_FORBIDDEN.search(text))


def _allowed_tools(body: Json, tools: Sequence[Json]) -> tuple[Sequence[Json], str]:
    """The tools that `tool_choice` leaves to the model, and whether one of them must be called."""
    choice = body.get("tool_choice") or "auto"
    if isinstance(choice, str):
        return tools, choice
    if "mode" in choice:
        allowed = {name for tool in choice.get("tools") or () if isinstance(name := tool.get("name"), str)}
        return [tool for tool in tools if tool["name"] in allowed], choice["mode"]
    named = [tool for tool in tools if (tool["type"], tool["name"]) == (choice.get("type"), choice.get("name"))]
    return named, "required"


def _distinctive_words(name: str) -> frozenset[str]:
    return frozenset(word for word in _split_words(name) if len(word) > 3) - _COMMON_WORDS


def _match_score(tool: Json, text: str) -> tuple[int, int, int, int]:
    """How well a tool fits what is said: by its name, by words of the name, of its description, of its parameters."""
    name, words = tool["name"], set(_WORD.findall(text))
    described = {
        word for word in _split_words(tool.get("description") or "") if len(word) >= MIN_WORD_LENGTH
    } - _GENERAL_WORDS
    return (
        int(_is_said(name, text)),
        _count_shared(_distinctive_words(name), words),
        _count_shared(described, words) or int(_is_given_all_numbers(tool, text)),
        _count_parameter_words(tool, words),
    )


def _count_parameter_words(tool: Json, words: Iterable[str]) -> int:
    """How many words of a tool's parameters, of their names and values, are said; one alone says nothing."""
    known = {
        word for word in _parameter_words(tool.get("parameters"), MAX_PARAMETER_DEPTH) if len(word) >= MIN_WORD_LENGTH
    }
    shared = _count_shared(known - _GENERAL_WORDS, words)
    return shared if shared >= MIN_PARAMETER_WORDS else 0


def _parameter_words(schema: object, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict) or not depth:
        return
    for keyword in ("properties", "$defs"):
        for name, inner in as_object(schema.get(keyword)).items():
            yield from _split_words(name)
            yield from _parameter_words(inner, depth - 1)
    values = schema.get("enum")
    for value in values[:MAX_VALUES] if isinstance(values, list) else ():
        yield from _split_words(as_string(value))


def _is_given_all_numbers(tool: Json, text: str) -> bool:
    """Whether a tool takes several numbers and nothing else, and the user says as many."""
    parameters = as_object(tool.get("parameters"))
    declared, required = as_object(parameters.get("properties")), parameters.get("required")
    names = required if isinstance(required, list) else ()
    kinds = [as_string(as_object(declared.get(as_string(name))).get("type")) for name in names]
    return len(kinds) > 1 and set(kinds) <= {"integer", "number"} and len(_NUMBER.findall(text)) == len(kinds)


def _split_words(text: str) -> list[str]:
    return _WORD.findall(_CAMEL_CASE.sub(" ", text).lower())


def _count_shared(own: Iterable[str], words: Iterable[str]) -> int:
    return sum(any(_is_same_word(word, other) for other in words) for word in own)


def _is_same_word(one: str, other: str) -> bool:
    """Whether two words are one, or forms of one: `calculate` and `calculator`, `flight` and `flights`."""
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
    return one == other or one.rstrip("s") == other.rstrip("s") or same >= max(6, min(len(one), len(other)) - 1)
