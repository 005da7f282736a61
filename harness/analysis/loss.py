"""A loss: something that a client dropped or changed in its history, in a request that the API accepts.

A loss is a generator function of a request and the history before it that yields facts; `@loss` adds the message, the fix
and the examples. The function's name with hyphens is the id of the loss, its docstring the documentation. The notation
of the examples is here, too: items that a client sends and answers of the model, as letters or built.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from harness.analysis.history.history import History
from harness.analysis.history.request import HistoryRequest
from harness.analysis.history.sent_items import collect_sent
from harness.analysis.history.tool_results import ToolResults
from harness.contract.rule import Case, after
from harness.core.errors import RegistrationError
from harness.core.exchange import Exchange, Json, ToolRuns
from harness.core.registry import Registry
from harness.items import function_call, message, reasoning

LossFacts = Mapping[str, Any]
"""`at`: the place in the request, `said`: the exchange with the original, the message's fields, a more precise `fix`."""
LossCheck = Callable[[HistoryRequest, History], Iterable[LossFacts]]


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that a client lost: the id of the `loss`, the number of the `exchange`, the place `at` in its request.

    `message` names cause and original in one line, `said` is the number of the exchange with the original.
    """

    loss: str
    exchange: int
    at: str
    message: str
    said: int | None
    fix: str


@dataclass(frozen=True, slots=True)
class Loss:
    """A kind of loss: message with `{fact}` fields, fix, examples with and without the loss, and check.

    A `strict` loss may be intended by the client and is reported only on demand, and not at a place where one of the
    losses `unless` is: that says more about the same fault.
    """

    id: str
    area: str
    doc: str
    message: str
    fix: str
    loses: tuple[Case, ...]
    keeps: tuple[Case, ...]
    strict: bool
    unless: tuple[str, ...]
    check: LossCheck

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def find(self, request: HistoryRequest, history: History) -> Iterator[Lost]:
        """Yield each loss of this kind in a request, given the history before it."""
        for facts in self.check(request, history):
            message = self.message.format_map(facts)
            writer, _, at = facts["at"].rpartition("/")
            yield Lost(self.id, int(writer or request.number), at, message, facts["said"], facts.get("fix", self.fix))


LOSSES: Registry[Loss] = Registry("loss")
"""Every loss by id; filled by importing `harness.analysis.losses`."""


def loss(
    *,
    message: str,
    fix: str,
    loses: Sequence[Case],
    keeps: Sequence[Case],
    strict: bool = False,
    unless: Sequence[str] = (),
) -> Callable[[LossCheck], LossCheck]:
    """Register a generator `(request, history)` that yields the facts of each loss.

    `loses` are conversations that show the loss, `keeps` conversations that do not.
    """

    def register(check: LossCheck) -> LossCheck:
        id, area = check.__name__.replace("_", "-"), check.__module__.rpartition(".")[2]
        doc = inspect.getdoc(check) or ""
        made = Loss(id, area, doc, message, fix, tuple(loses), tuple(keeps), strict, tuple(unless), check)
        if problem := _declaration_problem(made):
            raise RegistrationError(f"loss {made.id} in {check.__module__} {problem}")
        LOSSES.add(made.id, made, check.__module__)
        return check

    return register


def _declaration_problem(made: Loss) -> str | None:
    if not inspect.isgeneratorfunction(made.check):
        return "is not a generator: write a function of (request, history) that yields facts"
    if not made.doc:
        return "has no docstring"
    if not (made.loses and made.keeps):
        return "needs examples of both kinds: loses=[after(…)], keeps=[after(…)]"
    return None


def losses_of(exchanges: Sequence[Exchange], strict: bool = False, tool_runs: ToolRuns | None = None) -> list[Lost]:
    """List what the clients in a journal lost, oldest first, each loss once; with `strict` also what may be intended.

    `tool_runs` are the recorded executions of their tools, turns of their chat UIs, and answers that they left.
    """
    # An answer that the test gives itself has a meaning that only the test knows.
    exchanges = [exchange for exchange in exchanges if not exchange.is_routed]
    runs = tool_runs or ToolRuns()
    history = History(collect_sent(exchanges, runs.left), ToolResults(exchanges, tool_runs), runs.turns)
    found: dict[tuple[str, int | None, str], Lost] = {}
    for exchange in exchanges:
        request = history.read_request(exchange)
        for lost in _find_losses(request, history, strict) if request else ():
            found.setdefault((lost.loss, lost.said, lost.message), lost)
        # Added only after the search: a request is compared with what came before it.
        history.add_exchange(exchange, request)
    return list(found.values())


def _find_losses(request: HistoryRequest, history: History, strict: bool) -> list[Lost]:
    """Find what a request lost, each fault once."""
    kinds = (kind for kind in LOSSES.values() if strict or not kind.strict)
    found = [lost for kind in kinds for lost in kind.find(request, history)]
    here = {(lost.loss, lost.at) for lost in found}
    return [lost for lost in found if here.isdisjoint((id, lost.at) for id in LOSSES[lost.loss].unless)]


def losses_in_accepted(
    exchanges: Sequence[Exchange], strict: bool = False, tool_runs: ToolRuns | None = None
) -> list[Lost]:
    """List the losses that fail a test: those in accepted requests, since a refusal has already informed the client."""
    return losses_of([exchange for exchange in exchanges if exchange.status < 400], strict, tool_runs)


def ask(
    *requests: str | list[Any] | Json | Case,
    by: Sequence[str] = (),
    turns: Sequence[Any] = (),
    sent: Sequence[Json] = (),
    **more: Any,
) -> Case:
    """Build an example of requests: each a whole body, or a sketch of its `input`, sent with the members `more`.

    A sketch is a string of letters (`SENT`), or a list of such strings and items; the model's answer (`ANSWERED`)
    follows a `>`: `ask("P > C", "P C O > A", "P C O A N")`. `by` is what the agent of each request does, who is
    instructed `You plan.` by `plan`. `turns` are the answers to whole bodies; see `after`.
    """
    bodies, answers = [], [_answer(turn if isinstance(turn, list) else [turn]) for turn in turns]
    for request, role in zip_longest(requests, by):
        if not isinstance(request, dict | Case):
            signs = list(_signs(request))
            end = signs.index(">") if ">" in signs else len(signs)
            answers += [_answer(signs[end + 1 :])] if signs[end:] else []
            request = body(*signs[:end], **({"instructions": f"You {role}."} if role else {}), **more)
        bodies.append(request)
    return after(*bodies, turns=answers, sent=sent)


def asks(talks: str, **more: Any) -> list[Case]:
    """Build several examples: they are separated by `;`, and the sketches of their requests by `|`."""
    return [ask(*talk.split("|"), **more) for talk in talks.split(";")]


def body(*items: str | Json, **members: Any) -> Json:
    """Build a request with these items as its `input`, and other members."""
    return {"input": sketch(*items), **members}


def chained(*items: str | Json, to: int = 0) -> Json:
    """Build a request that continues the first answer, or that with the index `to`, with these items."""
    return {"previous_response_id": f"{{{to}.id}}", "input": sketch(*items)}


def sketch(*items: str | Json) -> list[Json]:
    """Return items, for a string those of its letters."""
    return [SENT[sign] if isinstance(sign, str) else sign for sign in _signs(items)]


def _signs(parts: str | Iterable[Any]) -> Iterable[Any]:
    for part in [parts] if isinstance(parts, str) else parts:
        yield from part.split() if isinstance(part, str) else [part]


def _answer(parts: Sequence[Any]) -> Any:
    """Return a turn of the model: its only item, or the list of its items."""
    items = [ANSWERED[sign] if isinstance(sign, str) else sign for sign in _signs(parts)]
    return items[0] if len(items) == 1 else items


def user(content: str | list[Json]) -> Json:
    """Build a user message, from a string or from parts."""
    return {"role": "user", "content": content}


def assistant(text: str, **members: Any) -> Json:
    """Build an assistant message with one part."""
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
        **members,
    }


def call(call_id: str = "call_1", name: str = "deploy", arguments: str = '{"ref":"v2"}') -> Json:
    """Build a function call as a client sends it back."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str = "call_1", value: Any = "v2 is live") -> Json:
    """Build the output of a function call."""
    return {"type": "function_call_output", "call_id": call_id, "output": value}


PROMPT, NEXT = user("Ship v2, please."), user("And now?")
DEPLOY = function_call("deploy", {"ref": "v2"}, call_id="call_1", off_schema=True)
NOTIFY = function_call("notify", {"who": "ops"}, call_id="call_2", off_schema=True)
TEXT = "I will deploy v2 and tell the operators about it."
TOLD = "The operators know of it, all of them."
REPLY = message(TEXT)
THOUGHT = reasoning("**Planning**")
STATELESS: Json = {"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}
"""The members of a request whose reasoning is encrypted and not stored."""
ENCRYPTED_THOUGHT: Json = {"type": "reasoning", "summary": [], "encrypted_content": "{0.output.0.encrypted_content}"}
"""The first item of the first answer, reasoning, as a client sends it back."""
SENT: dict[str, Json] = {
    "P": PROMPT,
    "N": NEXT,
    "N2": user("Who knows of it?"),
    "N3": user("Thanks."),
    "A": assistant(TEXT),
    "A2": assistant("Done."),
    "A3": assistant(TOLD),
    "T": ENCRYPTED_THOUGHT,
    "C": call(),
    "O": output(),
    "C2": call("call_2", "notify", '{"who":"ops"}'),
    "O2": output("call_2"),
}
"""The items of most examples: the prompt, the next ones, answers, reasoning, and two calls with their outputs."""
ANSWERED: dict[str, Any] = {
    "A": REPLY,
    "A2": message("Done."),
    "A3": message(TOLD),
    "T": THOUGHT,
    "C": DEPLOY,
    "C2": NOTIFY,
}
"""What the model emits: the answers, reasoning and calls of `SENT`."""
TOOLS: list[Json] = [
    {"type": "function", "name": name, "parameters": {"type": "object", "properties": {}}, "strict": False}
    for name in ("deploy", "notify")
]
