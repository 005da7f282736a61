"""Examines a server: its availability, its missing endpoints, then every question and every scenario."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from threading import Lock
from typing import Any

import orjson

import harness.foundry  # noqa: F401  (registers every rule)
from harness.api.http.dialects import AZURE
from harness.api.operations import find_operation
from harness.api.responses import CREATE_EVENT, SOCKET
from harness.contract.check import check_answer
from harness.contract.rule import CREATE_RESPONSE, Case
from harness.contract.rules.http.beta import is_assistants_operation
from harness.core.errors import ConfigError
from harness.core.exchange import Finding, Json
from harness.core.json_values import as_object, objects_in
from harness.live.conformance import scenarios  # noqa: F401  (register their scenarios)
from harness.live.conformance.questions import (
    DEFAULT_MODEL,
    OPTIONAL_ENDPOINTS,
    ServerQuestion,
    build_questions,
    dialect_of,
    with_model,
)
from harness.live.conformance.scenario import SCENARIOS, run_scenario
from harness.live.conformance.score import UNGRADED, Score, grade_reply, is_refused, reply_error
from harness.live.http import HttpClient, ServerReply
from harness.live.websocket import ConformanceSocket
from harness.verify.examples import EXAMPLE_HEADERS, EXAMPLE_KEY, build_body, fill_placeholders
from harness.verify.judging.streams import judge_response_stream, judge_run_stream

Task = Callable[[], None]
MAX_FAULTS = 5
"""The number of consecutive requests without a complete answer after which no more are sent."""
NO_URL_STATUSES = (404, 405, 501)
NO_KEY_STATUSES = (401, 403)
CUSTOM_TOOL_MODEL = "gpt-5"
"""The model that is asked for custom tools in place of DEFAULT_MODEL, which has none."""


class _ServerGone(Exception):
    """Raised when the server no longer answers."""


class Examination:
    """A server under examination and its score so far; several threads may send questions concurrently."""

    def __init__(self, client: HttpClient, model: str, timeout: float) -> None:
        self.score = Score(client.url, model)
        self.timeout = timeout
        self._client = client
        self._model = model
        self._dialect = dialect_of(client.root)
        self._lock = Lock()
        self._faults = 0

    def lacks(self, endpoint: str) -> bool:
        """Return whether the server lacks an optional endpoint."""
        return bool(self.score.surfaces.get(endpoint))

    def send(self, on: str, body: Json | None = None) -> ServerReply:
        """Send a request of a scenario and return the reply; requests for a response get the model."""
        if body is not None and on == CREATE_RESPONSE:
            body = {"model": self._model_for(body), **body}
        return self._send_request(on, EXAMPLE_HEADERS, None if body is None else orjson.dumps(body))

    def _model_for(self, body: Json) -> str:
        """Return the model of a scenario's request: for custom tools, which DEFAULT_MODEL lacks, another one."""
        types = {tool["type"] for tool in body.get("tools") or ()}
        return CUSTOM_TOOL_MODEL if self._model == DEFAULT_MODEL and "custom" in types else self._model

    @contextmanager
    def connected(self) -> Iterator[Callable[[Json], ServerReply]]:
        """Open a WebSocket and yield a function that sends requests for responses over it."""
        with closing(self._new_socket()) as socket:
            yield lambda body: self._send_event(
                socket, orjson.dumps({"type": CREATE_EVENT, "model": self._model, **body})
            )

    def check_server(self) -> None:
        """Send a minimal request and look for the optional endpoints. ConfigError if the server lacks the API."""
        first = self.send(CREATE_RESPONSE, {"input": "hi"})
        if problem := _explain_unusable(first, self._client.url):
            raise ConfigError(problem)
        if not first.is_accepted:
            error = reply_error(first)
            self.score.stopped = (
                f"the smallest request is not answered: {first.fault or _format_error(error)}. --model names one."
            )
            return
        self.score.surfaces = {name: self._explain_absent(case) for name, case in OPTIONAL_ENDPOINTS.items()}

    def _explain_absent(self, case: Case) -> str:
        """Explain why an optional endpoint counts as absent; empty if it exists."""
        with closing(self._new_socket()) as socket:
            reply = self._send_step(with_model(case, self._model), [], socket, judged=False)
            # A server that lists responses accepts the GET of the handshake, but opens no WebSocket.
            is_there = reply.is_accepted and (case.on != SOCKET or socket.is_open)
        return "" if is_there else f"{case.on} is answered by {reply.status}" if reply.status else reply.fault

    @property
    def listed_models(self) -> Sequence[str]:
        """The models that the server lists."""
        if self.lacks("/models"):
            return []
        reply = self._send_request("GET /models", EXAMPLE_HEADERS, None, judged=False)
        return [str(listed.get("id")) for listed in objects_in(as_object(reply.body).get("data"))]

    def send_question(self, question: ServerQuestion) -> None:
        """Send one question and record its outcome."""
        if question.reason:
            with self._lock:
                self.score.left_out[question.reason] += 1
            return
        before: list[ServerReply] = []
        reply = None
        # Earlier answers may lack what the question refers to, such as an id.
        headers = question.case.headers if question.case.on == SOCKET else None
        with suppress(LookupError, TypeError), closing(self._new_socket(headers)) as socket:
            reply = self._send_case(question, before, socket)
        self._record_outcome(question, before, reply)

    def _send_case(
        self, question: ServerQuestion, before: list[ServerReply], socket: ConformanceSocket
    ) -> ServerReply | None:
        """Send a question and return the reply; None if a setup request, the last in `before`, got a wrong answer."""
        for step, status in zip(question.case.before, question.setup_statuses, strict=True):
            before.append(self._send_step(step, before, socket))
            if not _is_as_expected(before[-1], status):
                return None
        return self._send_step(question.case, before, socket)

    def play_scenario(self, name: str) -> None:
        """Play a scenario and record its claims."""
        for claim, problem in run_scenario(SCENARIOS[name], self):
            with self._lock:
                self.score.add_claim(name, claim, problem)

    def _send_step(
        self, case: Case, before: list[Any], socket: ConformanceSocket, *, judged: bool = True
    ) -> ServerReply:
        on = fill_placeholders(case.on or CREATE_RESPONSE, before)
        body = build_body(case, before) if on.startswith(("POST", "PUT", "WS")) else None
        if on == SOCKET:
            return self._send_event(socket, body or b"", judged=judged)
        return self._send_request(on, EXAMPLE_HEADERS if case.headers is None else case.headers, body, judged=judged)

    def _new_socket(self, headers: Mapping[str, str] | None = None) -> ConformanceSocket:
        headers = EXAMPLE_HEADERS if headers is None else headers
        return ConformanceSocket(self._client.url, self._with_key(headers), self.timeout)

    def _send_event(self, socket: ConformanceSocket, event: bytes, *, judged: bool = True) -> ServerReply:
        return self._judge_reply(SOCKET, lambda: socket.send_event(event), judged)

    def _send_request(
        self, on: str, headers: Mapping[str, str], body: bytes | None, *, judged: bool = True
    ) -> ServerReply:
        method, _, path = on.partition(" ")
        return self._judge_reply(on, lambda: self._client.send(method, path, self._with_key(headers), body), judged)

    def _with_key(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        headers = {name: value.replace(EXAMPLE_KEY, self._client.key) for name, value in headers.items()}
        if self._dialect == AZURE and headers.get("authorization") == f"Bearer {self._client.key}":
            headers["api-key"] = headers.pop("authorization").removeprefix("Bearer ")
        return headers

    def _judge_reply(self, on: str, send: Callable[[], ServerReply], judged: bool) -> ServerReply:
        if self._faults >= MAX_FAULTS:
            raise _ServerGone
        reply = send()
        with self._lock:
            self._faults = self._faults + 1 if not reply.status or "cut" in reply.recorded.flags else 0
            if judged:
                self._judge_form(on, reply)
        return reply

    def _judge_form(self, on: str, reply: ServerReply) -> None:
        """Check whether an answer conforms to its schema, whatever its content."""
        method, _, path = (CREATE_RESPONSE if on == SOCKET else on).partition(" ")
        operation, _, _ = find_operation(method, path.partition("?")[0])
        recorded = reply.recorded
        on = on if on == SOCKET else operation.id if operation else "no operation"
        kind = "streams" if recorded.events is not None else "answers" if reply.status < 400 else "errors"
        if reply.fault:
            self.score.add_form(kind, on, [Finding("", reply.fault)])
        elif recorded.events is not None:
            verdict = judge_run_stream(recorded) if is_assistants_operation(on) else judge_response_stream(recorded)
            self.score.add_form(kind, on, [] if is_refused(reply) else verdict.findings)
        elif root := "Error" if kind == "errors" else operation and operation.answer_schema:
            found = check_answer(root, recorded.answer, dialect=self._dialect)
            self.score.add_form(kind, on, [found] if found else [])

    def _record_outcome(self, question: ServerQuestion, before: list[ServerReply], reply: ServerReply | None) -> None:
        outcome = grade_reply(question, before, reply)
        finding: Json = {"name": question.name, "request": _request_json(question.case)}
        if question.kind == "refusal" and reply is not None:
            finding["expected"] = question.expected_error(before)
        if reply is not None:
            finding["got"] = reply_error(reply) if is_refused(reply) or reply.fault else {"status": reply.status}
        with self._lock:
            if outcome in UNGRADED:
                why = _explain_blocked(before) if reply is None else "the server was asked too often (429)"
                self.score.left_out[why] += 1
            self.score.add_outcome(question.kind, question.area, outcome, finding)


def _explain_blocked(before: list[ServerReply]) -> str:
    method, path = before[-1].recorded.method, before[-1].recorded.path
    operation, _, _ = find_operation(method, path)
    return f"what comes before it fails: {operation.id if operation else f'{method} {path}'}"


def _is_as_expected(reply: ServerReply, status: int) -> bool:
    return reply.is_accepted if status < 300 else reply.status >= 300


def _request_json(case: Case) -> Json:
    body: Any = case.body if case.raw is None else case.raw.decode("utf-8", "replace")
    return {"on": case.on or CREATE_RESPONSE, "body": body}


def _format_error(error: Json) -> str:
    return f"{error['status']} {error.get('message')}"


def _explain_unusable(reply: ServerReply, url: str) -> str:
    """Explain why a server cannot be examined, and what to do; empty if it can."""
    if not reply.status:
        return f"{url} cannot be examined: {reply.fault}. Start the server, or pass another URL to --server."
    if reply.status in NO_KEY_STATUSES:
        refusal = _format_error(reply_error(reply))
        return f"{url} refuses the key: {refusal}. Name the variable that holds it: --key-env NAME."
    error = as_object(as_object(reply.recorded.answer).get("error"))
    if reply.status in NO_URL_STATUSES and error.get("code") != "model_not_found":
        return f"{url} has no /responses ({_format_error(reply_error(reply))}). Pass the base URL, which mostly ends in /v1."
    if reply.status < 400 and reply.body is None:
        return f"{url} does not speak the API: {reply.fault}. Pass the base URL of a server that does."
    return ""


def examine_server(
    url: str,
    *,
    model: str = DEFAULT_MODEL,
    key: str = EXAMPLE_KEY,
    timeout: float = 30.0,
    jobs: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Score:
    """Examine the server at the base URL `url`, `jobs` questions at a time; `timeout` is the seconds for one answer.

    `progress` is called with the number of finished tasks and of all tasks. ConfigError if no server there has the API.
    """
    client = HttpClient(url, key, timeout)
    examination = Examination(client, model, timeout)
    examination.check_server()
    if examination.score.stopped:
        return examination.score
    absent = [endpoint for endpoint in OPTIONAL_ENDPOINTS if examination.lacks(endpoint)]
    questions = list(build_questions(model, examination.listed_models, absent, client.root))
    tasks: list[Task] = [
        *(partial(examination.send_question, question) for question in questions),
        *(partial(examination.play_scenario, name) for name in SCENARIOS),
    ]
    for done, _ in enumerate(_run_tasks(examination, tasks, jobs), 1):
        progress(done, len(tasks))
    examination.score.sort()
    return examination.score


def _run_tasks(examination: Examination, tasks: Sequence[Task], jobs: int) -> Iterator[None]:
    def run(task: Task) -> None:
        try:
            task()
        except _ServerGone:
            examination.score.stopped = f"{MAX_FAULTS} requests in a row were not answered"

    if jobs == 1:
        yield from map(run, tasks)
        return
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(run, tasks)
