"""The model's replies as data: one response or run, and all of them.

`harness.analysis.collect_replies` reads them from the journal.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.core.exchange import Json

TOKEN_COUNT_NAMES = {
    "input_tokens": ("input_tokens", "prompt_tokens", "input_token_count"),
    "output_tokens": ("output_tokens", "completion_tokens", "output_token_count"),
    "total_tokens": ("total_tokens", "total_token_count"),
}
"""The token counts of a usage object, and the names for each in the API and its clients."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One response, or one run of a thread.

    `exchange` is the number of the first exchange that shows the reply complete. `messages` holds message items,
    `calls` the items that the client must answer, `reasoning` the reasoning items, `usage` the object on the wire,
    empty without one. `follows` is the id of the reply whose calls the request answers, None if it answers none.
    """

    id: str
    exchange: int
    messages: Sequence[Json] = ()
    calls: Sequence[Json] = ()
    reasoning: Sequence[Json] = ()
    usage: Json = field(default_factory=dict)
    follows: str | None = None

    @property
    def text(self) -> str:
        """The text of all messages, refusals included."""
        return "".join(text for message in self.messages for text, _ in text_parts(message))

    @property
    def annotations(self) -> list[Json]:
        """The annotations of all messages, in the form of the endpoint."""
        return [note for message in self.messages for note in annotations_of(message)]

    def as_json(self) -> Json:
        """Return this reply as JSON."""
        own = {"id": self.id, "exchange": self.exchange, "text": self.text, "annotations": self.annotations}
        rest = {"calls": list(self.calls), "reasoning": list(self.reasoning), "usage": self.usage}
        return {**own, **rest, "messages": list(self.messages), "follows": self.follows}


class ModelReplies(tuple[ModelReply, ...]):
    """All replies, oldest first; `text` is that of the last one, the other properties cover all of them."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """The text of the last reply; empty without one."""
        return self[-1].text if self else ""

    @property
    def texts(self) -> list[str]:
        """The text of each reply."""
        return [reply.text for reply in self]

    @property
    def annotations(self) -> list[Json]:
        """The annotations of all replies."""
        return [note for reply in self for note in reply.annotations]

    @property
    def calls(self) -> list[Json]:
        """The calls that the client must answer, of all replies."""
        return [call for reply in self for call in reply.calls]

    @property
    def reasoning(self) -> list[Json]:
        """The reasoning items of all replies."""
        return [item for reply in self for item in reply.reasoning]

    @property
    def usage(self) -> dict[str, int]:
        """The total input, output and total tokens of all replies."""
        return sum_token_counts(reply.usage for reply in self)


def text_parts(item: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return the texts of a message or a reasoning item, each with whether a client may omit it.

    A refusal next to a text may be omitted, and so may raw reasoning next to its summary.
    """
    if "summary" in item:
        summary = [part["text"] for part in item["summary"]]
        return [(text, False) for text in summary] + [
            (part["text"], bool(summary)) for part in item.get("content") or ()
        ]
    content = item["content"]
    spoken = any(part.get("text") for part in content)
    return [(part["text"], False) if "text" in part else (part.get("refusal") or "", spoken) for part in content]


def annotations_of(message: Mapping[str, Any]) -> list[Json]:
    """Return the annotations of a message."""
    return [note for part in message["content"] for note in part.get("annotations") or ()]


def token_counts(usage: Any) -> dict[str, int]:
    """Return the token counts of a usage object under the names of `POST /responses`, without those it lacks."""
    counts: dict[str, int] = {}
    for name, names in TOKEN_COUNT_NAMES.items():
        values = (usage.get(member) if isinstance(usage, Mapping) else getattr(usage, member, None) for member in names)
        number = next((value for value in values if isinstance(value, int)), None)
        if number is not None:
            counts[name] = number
    return counts


def sum_token_counts(usages: Iterable[Any]) -> dict[str, int]:
    """Sum the token counts of usage objects."""
    known = [token_counts(usage) for usage in usages]
    return {name: sum(usage.get(name, 0) for usage in known) for name in TOKEN_COUNT_NAMES}
