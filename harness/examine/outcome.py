"""The outcome of a task, which an adapter reports as one line of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from harness.core.errors import Malformed
from harness.core.exchange import Json
from harness.core.registry import suggest_name

_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "texts": list,
    "streamed": list,
    "annotations": list,
    "calls": list,
    "refusal": str,
    "incomplete": list,
    "reasoning": list,
    "usage": dict,
    "interruptions": list,
    "error": dict,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result as the client's user sees it; members that the client cannot express are None.

    `texts` are its final answers, one per answered prompt; `streamed` is the streamed text of each. `annotations` are
    the citations of the last answer, `{"type", "url" or "file_id" …}`; `calls` the tools that it ran, `{"name",
    "arguments"}`; `refusal` is the model's refusal, if the client distinguishes it from a text. `incomplete` has the
    reason why each text was cut, in the API's or the client's words, empty for a complete text. `reasoning` has the
    summaries; `usage` has `input_tokens`, `output_tokens`, `total_tokens` of all requests; `interruptions` are the
    names of the tools that the user was asked about, and the links for consent. `error` is the error that ended the
    task: `{"type", "message", "status"}`.
    """

    texts: Sequence[str] = ()
    streamed: Sequence[str] | None = None
    annotations: Sequence[Mapping[str, Any]] | None = None
    calls: Sequence[Mapping[str, Any]] | None = None
    refusal: str | None = None
    incomplete: Sequence[str] | None = None
    reasoning: Sequence[str] | None = None
    usage: Mapping[str, int] | None = None
    interruptions: Sequence[str] | None = None
    error: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The last final answer; empty without any."""
        return self.texts[-1] if self.texts else ""

    def as_json(self) -> Json:
        """Return this outcome as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: object) -> Outcome:
        """Read an outcome from JSON. Malformed names the wrong member."""
        if not isinstance(body, dict):
            raise Malformed(f"an outcome is an object, not {type(body).__name__}")
        known = [member.name for member in fields(cls)]
        for name, value in body.items():
            if name not in known:
                raise Malformed(f"an outcome has no member {name!r}. {suggest_name(name, known)}")
            if value is not None and not isinstance(value, _KINDS[name]):
                raise Malformed(f"outcome.{name} is of type {type(value).__name__}, not {_KINDS[name]}")
        if not all(isinstance(text, str) for text in body.get("texts") or ()):
            raise Malformed("outcome.texts must hold strings, one for each prompt")
        if not all(isinstance(reason, str) for reason in body.get("incomplete") or ()):
            raise Malformed("outcome.incomplete must hold strings, one for each text, empty where it is whole")
        return cls(**{**body, "texts": body.get("texts") or ()})


def describe_error(error: Exception) -> Json:
    """Describe an exception as the `error` of an outcome; `status` is the HTTP status, if there was an answer."""
    statuses = (status for cause in _causes(error) if (status := getattr(cause, "status_code", None)) is not None)
    return {"type": type(error).__name__, "message": str(error), "status": next(statuses, None)}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, each once."""
    # Some clients create cycles of causes.
    met: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in met:
        yield cause
        met.add(id(cause))
        cause = cause.__cause__ or cause.__context__
