"""Which tool a model without a script calls: one that `tool_choice` demands, or one that the user speaks of.

Of the functions and custom tools that `tool_choice` leaves, the one is taken that the last message of the user fits best:
by its name, else by words of the name, else by distinctive words of the description. A request for a tool without a
name gets the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

from harness.core.exchange import Json
from harness.core.loose_json import as_object, as_string
from harness.items.history.transcript import input_items
from harness.server.model.reading import NAMED_TYPES, user_text

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


def _match_score(tool: Json, text: str) -> tuple[int, int, int]:
    """How well a tool fits what is said: by its name, by words of the name, by words of its description."""
    name, words = tool["name"], set(_WORD.findall(text))
    named = len(name) > 2 and re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", text)
    distinctive = {word for word in _split_words(name) if len(word) > 3} - _COMMON_WORDS
    described = {
        word for word in _split_words(tool.get("description") or "") if len(word) >= MIN_WORD_LENGTH
    } - _GENERAL_WORDS
    return (
        int(bool(named)),
        _count_shared(distinctive, words),
        _count_shared(described, words) or int(_is_given_all_numbers(tool, text)),
    )


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
