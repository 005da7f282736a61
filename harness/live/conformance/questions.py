"""Builds the questions to a server: the examples of each rule and minimal requests, with the API's answers.

Examples whose answer depends on the account, the time or the model are left out, and counted with the reason.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from harness.answers.parameters import PARAMETERS
from harness.api.http.dialects import API_ROOTS, OPENAI, parse_api_path
from harness.api.responses import CREATE_EVENT, INJECT_EVENT, SOCKET
from harness.contract.rule import CREATE_RESPONSE, RULES, Case, Rule
from harness.contract.rules.example_requests import ANY_UPLOAD as ANY_FILE
from harness.contract.rules.example_requests import VALID_BODY
from harness.core.cached import cached_property
from harness.core.dates import CONTRACT_DATE, is_valid_on
from harness.core.exchange import Answer, Json
from harness.core.json_values import as_object
from harness.items.examples import NEXT_MESSAGE, typed
from harness.items.kind import item_types
from harness.live.http import ServerReply
from harness.server.mock_api import API_ROOT
from harness.verify.examples import MINIMAL_BY_OPERATION, PlayedCase, fill_placeholders, play_case

OTHER_PROVIDER = "it is another provider's"


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """A request to a server, the setup requests before it, and the expected answer.

    `expected_message` is the message of the expected error, with placeholders for values from earlier answers; None if
    the request must be accepted. `root` is the API root in the mock that computes the expected answer.
    """

    case: Case
    expected_message: str | None = None
    root: str = API_ROOT

    @property
    def kind(self) -> Literal["refusal", "accept"]:
        """Whether the request must be refused or accepted."""
        return "accept" if self.expected_message is None else "refusal"

    @cached_property
    def steps(self) -> tuple[Case, ...]:
        """The requests, in order; the last one is the actual question."""
        return (*self.case.before, self.case)

    @property
    def socket_step_count(self) -> int:
        """How many of the steps, always the last ones, are events of one WebSocket."""
        return sum(map(is_socket_event, self.steps))

    @cached_property
    def played(self) -> PlayedCase:
        """The mock's answers."""
        return play_case(self.case, self.root)

    @property
    def setup_statuses(self) -> tuple[int, ...]:
        """The expected statuses of the setup requests."""
        return tuple(answer.status for answer in self.played.before)

    @property
    def error_body(self) -> Json:
        """The JSON of the expected refusal."""
        body: Json = self.played.answer.body
        return body

    def expected_error(self, before: Sequence[Answer] | Sequence[ServerReply]) -> Json:
        """Return the expected error after these answers: its status and its members."""
        body = self.error_body
        error = {"status": self.played.answer.status, **body.get("error", body)}
        return {**error, "message": fill_placeholders(self.expected_message, before)} if "message" in error else error


def examples_of(rule: Rule) -> Iterator[tuple[str | None, Case]]:
    """Yield the examples of a rule: the refused ones with their messages, then the accepted ones with None."""
    yield from rule.rejects.items()
    yield from ((None, case) for case in rule.accepts)


def explain_left_out(rule: Rule, case: Case, dialect: str) -> str:
    """Explain why no API of this dialect can be asked an example, whatever the account; empty if it can."""
    steps = (*case.before, case)
    if not is_valid_on(CONTRACT_DATE, rule.since, rule.until):
        return "the API no longer answers so"
    if any(step.as_of and step.as_of != CONTRACT_DATE for step in steps):
        return "it concerns another date"
    if _is_for_other_provider(rule, steps, dialect):
        return OTHER_PROVIDER
    if any(step.account for step in steps):
        return "it needs an account of its own"
    if any(step.skip for step in steps):
        return "time has to pass"
    return "a model would have to give a certain answer" if any(step.turns for step in steps) else ""


def _is_for_other_provider(rule: Rule, steps: Sequence[Case], dialect: str) -> bool:
    paths = [(step.on or CREATE_RESPONSE).partition(" ")[2] for step in steps]
    if any(path.startswith("!") and parse_api_path(path[1:]).dialect != dialect for path in paths):
        return True
    if dialect != OPENAI and any(map(is_socket_event, steps)):
        return True
    return bool(rule.dialects) and dialect not in rule.dialects


def is_socket_event(case: Case) -> bool:
    """Return whether a step is sent over a WebSocket."""
    return (case.on or CREATE_RESPONSE).startswith("WS ")


SCHEMA: Json = {
    "type": "object",
    "properties": {"ref": {"type": "string"}},
    "required": ["ref"],
    "additionalProperties": False,
}

TOOLS: Mapping[str, Json] = {
    "function": typed("function", name="deploy", description="Deploy.", parameters=SCHEMA, strict=True),
    "function that is not strict": typed(
        "function", name="deploy", parameters={"type": "object", "properties": {}}, strict=False
    ),
    "custom": typed("custom", name="run", description="Run a command."),
    "web_search": typed("web_search"),
    "code_interpreter": typed("code_interpreter", container=typed("auto")),
    "image_generation": typed("image_generation"),
}
"""Tools that need no setup. Some servers lack the hosted ones, but the API has them."""

CHOICES: Mapping[str, Any] = {
    "none": "none",
    "required": "required",
    "a function": typed("function", name="deploy"),
    "allowed_tools": typed("allowed_tools", mode="auto", tools=[typed("function", name="deploy")]),
}
"""Values of `tool_choice` for the first of TOOLS."""

FIRST_CASE = Case({"input": "Ship v2."})
STORED_ITEMS: Mapping[str, Case] = {
    "item_reference": Case(
        {"input": [typed("item_reference", id="{1.data.0.id}"), NEXT_MESSAGE]},
        before=(FIRST_CASE, Case(on="GET /responses/{0.id}/input_items")),
    ),
    "compaction": Case(
        {"input": [typed("compaction", encrypted_content="{0.output.1.encrypted_content}"), NEXT_MESSAGE]},
        before=(Case(VALID_BODY, on="POST /responses/compact"),),
    ),
}
"""Requests that refer to items that the server created."""


def minimal_requests() -> Iterator[tuple[str, str, Case]]:
    """Yield each minimal request, with its area and name."""
    for declared in item_types().values():
        yield from (("items", name, Case({"input": items})) for name, items in declared.examples.items())
    yield from (("items", name, case) for name, case in STORED_ITEMS.items())
    for name, tool in TOOLS.items():
        yield "tools", name, Case({"input": "hi", "tools": [tool]})
    for name, choice in CHOICES.items():
        chosen = {"input": "hi", "tools": [TOOLS["function"]], "tool_choice": choice}
        yield "tools", f"tool_choice: {name}", Case(chosen)
    store = Case({"name": "docs"}, on="POST /vector_stores")
    search = typed("file_search", vector_store_ids=["{0.id}"])
    yield "tools", "file_search", Case({"input": "hi", "tools": [search]}, before=(store,))
    for parameter in PARAMETERS.values():
        yield from (("members", name, Case({"input": "hi", **members})) for name, members in parameter.examples.items())


DEFAULT_MODEL: str = VALID_BODY["model"]
"""The model in the examples, which can be replaced by any other."""
ONE_MODEL = "/models/"
OPTIONAL_ENDPOINTS: Mapping[str, Case] = {
    **{f"/responses/{name}": Case(VALID_BODY, on=f"POST /responses/{name}") for name in ("compact", "input_tokens")},
    **{f"/{name}": Case({}, on=f"POST /{name}") for name in ("conversations", "vector_stores", "threads")},
    **{f"/{name}": Case(on=f"GET /{name}") for name in ("assistants", "models")},
    "/files": ANY_FILE,
    SOCKET: Case({}, on=SOCKET),
}
"""Endpoints that a server may lack, each with a request that finds it; questions about missing ones are left out."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerQuestion(Question):
    """A question to the server under examination; `reason` is why it is left out, empty if it is asked."""

    area: str
    name: str
    reason: str = ""


def build_questions(
    model: str, listed: Collection[str], absent: Collection[str], root: str
) -> Iterator[ServerQuestion]:
    """Yield every question to a server with this `model`.

    `listed` are its other models, `absent` the OPTIONAL_ENDPOINTS that it lacks, `root` is the path of its base URL,
    which determines the dialect.
    """
    dialect = dialect_of(root)
    for question, rule in (*_rule_questions(model, listed, absent, root), *_minimal_questions(model, absent, root)):
        if question.reason or _is_answered_by_mock(question, rule):
            yield question
        else:
            yield replace(question, reason="it depends on the model" if dialect == OPENAI else OTHER_PROVIDER)


def _rule_questions(
    model: str, listed: Collection[str], absent: Collection[str], root: str
) -> Iterator[tuple[ServerQuestion, Rule | None]]:
    allowed, dialect = {model, DEFAULT_MODEL, *listed}, dialect_of(root)
    for rule in RULES.values():
        for number, (message, case) in enumerate(examples_of(rule), 1 - len(rule.rejects)):
            reason = (
                explain_left_out(rule, case, dialect)
                or _explain_rule_left_out(rule)
                or _explain_case_left_out(case, allowed, absent)
                or ("" if message else _explain_accept_left_out(case, listed))
            )
            question = ServerQuestion(
                case=with_model(case, model),
                expected_message=message and _adapt_message(message, rule, model, root),
                root=API_ROOTS[dialect],
                area=rule.area,
                name=rule.id if message else f"{rule.id} {number}",
                reason=reason,
            )
            yield question, rule


def _minimal_questions(model: str, absent: Collection[str], root: str) -> Iterator[tuple[ServerQuestion, Rule | None]]:
    for area, name, case in minimal_requests():
        question = ServerQuestion(
            case=with_model(case, model),
            root=API_ROOTS[dialect_of(root)],
            area=f"probes: {area}",
            name=name,
            reason=_explain_case_left_out(case, {model, DEFAULT_MODEL}, absent),
        )
        yield question, None


def _is_answered_by_mock(question: ServerQuestion, rule: Rule | None) -> bool:
    answer = question.played.answer
    if rule is None or question.kind == "accept":
        return answer.status == 200
    return answer.rule == rule.id


def _adapt_message(message: str, rule: Rule, model: str, root: str) -> str:
    """Adapt the expected message to a server with this model and root, which messages about transport name."""
    if rule.area != "transport":
        return message
    return message.replace(DEFAULT_MODEL, model).replace(" /v1/", f" {root}/")


def dialect_of(root: str) -> str:
    """Return the dialect of a server by the path of its base URL: OpenAI's unless it is Azure's or Foundry's."""
    return parse_api_path(f"{root}/responses").dialect


def _explain_rule_left_out(rule: Rule) -> str:
    if rule.error.body_template is not None:
        return "its error has a form of its own"
    return "it is assumed, not known" if rule.level == "assumed" else ""


def _names_response(step: Case) -> bool:
    """Return whether an event other than `response.create` refers to an earlier response, or adds outputs to one."""
    body = step.body or {}
    if body.get("type") == INJECT_EVENT:
        return True
    named = (body.get("previous_response_id"), body.get("response_id"))
    return body.get("type", CREATE_EVENT) != CREATE_EVENT and "{" in str(named)


ANOTHER_MODEL = "it needs another model"
INVENTED_VALUES = re.compile(
    r'"encrypted_content":"|//[\w.]*example\.org|"(?:vs|file|pmpt|cntr|cfile|msg)_\w+"|data:image/'
)
"""Matches invented values in accepted examples that a real server refuses: ciphertexts, URLs, ids, broken images."""


def _explain_accept_left_out(case: Case, listed: Collection[str]) -> str:
    if INVENTED_VALUES.search(orjson.dumps([step.body for step in (*case.before, case)]).decode()):
        return "it contains made-up values"
    path = (case.on or CREATE_RESPONSE).partition(" ")[2]
    unlisted = path.startswith(ONE_MODEL) and path.removeprefix(ONE_MODEL) not in listed
    return ANOTHER_MODEL if unlisted else ""


def _explain_case_left_out(case: Case, allowed: Collection[str], absent: Collection[str]) -> str:
    steps = (*case.before, case)
    if any("!" in (step.on or "") for step in steps):
        return "its path is outside the base URL"
    if any(step.on == SOCKET and _names_response(step) for step in steps):
        return "it concerns a response in progress"
    if lacking := next((endpoint for step in steps for endpoint in needed_endpoints(step) if endpoint in absent), ""):
        return f"the server has no {lacking}"
    named = (step.body.get("model") for step in steps if isinstance(step.body, dict))
    return ANOTHER_MODEL if any(isinstance(name, str) and name not in allowed for name in named) else ""


def needed_endpoints(step: Case) -> Iterator[str]:
    """Yield the optional endpoints a request needs: its own, and conversations if it continues a conversation."""
    on = step.on or CREATE_RESPONSE
    path = on.partition(" ")[2].partition("?")[0]
    yield from (endpoint for endpoint in OPTIONAL_ENDPOINTS if endpoint == on or f"{path}/".startswith(f"{endpoint}/"))
    if isinstance(step.body, dict) and "conversation" in step.body:
        yield "/conversations"


def with_model(case: Case, model: str) -> Case:
    """Replace DEFAULT_MODEL in an example with this model."""
    if model == DEFAULT_MODEL:
        return case
    before = tuple(with_model(step, model) for step in case.before)
    raw = None if case.raw is None else case.raw.replace(DEFAULT_MODEL.encode(), model.encode())
    body, implied = case.body, (case.on or CREATE_RESPONSE) in MINIMAL_BY_OPERATION and "model" not in case.absent
    if as_object(body).get("model") == DEFAULT_MODEL or (implied and "model" not in (body or {})):
        body = {**(body or {}), "model": model}
    return replace(case, before=before, raw=raw, body=body)
