"""Mutants of the area `errors`."""

from typing import Any

import httpx

from harness.core.exchange import Json
from tests.examine.mutants.mutant import H, R, http_mutant, impatient, mutant
from tests.examine.reference.http import ReferenceClientError


def words(status: int, part: str = "") -> Any:
    """Return an error whose words get lost on the way to the user."""

    def refused(self: H, answer: httpx.Response) -> ReferenceClientError:
        lost = answer.status_code == status and part in answer.text
        return ReferenceClientError("Something went wrong.", status) if lost else H.refused(self, answer)

    return refused


def retried(status: int, part: str = "") -> Any:
    return lambda self, answer: (answer.status_code == status and part in answer.text) or H.retries_status(self, answer)


def swallows(when: Any) -> Any:
    """Return an error after which the task counts as done."""

    def describe(self: R, problem: ReferenceClientError) -> Json | None:
        return None if when(self, problem) else R.describe(self, problem)

    return describe


def by_cause(kind: type[Exception], **more: Any) -> Any:
    def when(self: R, problem: ReferenceClientError) -> bool:
        return type(problem.__cause__) is kind and str(problem).startswith(more.get("says", ""))

    return swallows(when)


def runs_again(status: int, part: str = "") -> Any:
    """Starts the prompt again after an error, with all of its calls."""

    def ask(self: R, thread: Any, agent: Any, new: list[Json]) -> Json:
        try:
            return R.ask(self, thread, agent, new)
        except ReferenceClientError as problem:
            calls = [item for item in thread.items if item.get("type") == "function_call"]
            if problem.status == status and calls and part in str(problem):
                self.output_of(calls[-1])
            raise

    return ask


def runs_again_on_retry(kind: Any) -> dict[str, Any]:
    """Runs the last call again for each attempt of the request with its output."""

    def ask(self: R, thread: Any, agent: Any, new: list[Json]) -> Json:
        before = len(self.http.failed)  # type: ignore[attr-defined]
        response = R.ask(self, thread, agent, new)
        calls = [item for item in thread.items if item.get("type") == "function_call"]
        if kind in self.http.failed[before:] and calls:  # type: ignore[attr-defined]
            self.output_of(calls[-1])
        return response

    class NotingHttp(H):
        def __init__(self, task: Any) -> None:
            super().__init__(task)
            self.failed: list[Any] = []

        def retries_status(self, answer: httpx.Response) -> bool:
            self.failed.append(answer.status_code)
            return super().retries_status(answer)

        def retries_connection(self, problem: Exception) -> bool:
            self.failed.append("connection")
            return super().retries_connection(problem)

    return {"http_class": NotingHttp, "ask": ask}


def says_again(self: R, thread: Any, agent: Any, prompt: str) -> str:
    """Says the prompt twice after an error that passed: it stands in the history before it is answered."""
    if self.shown["texts"] and self.task.state == "replay":
        thread.items.append({"role": "user", "content": prompt})
    return R.say(self, thread, agent, prompt)


def reads_limits(self: H, answer: httpx.Response) -> float:
    if "x-ratelimit-limit-requests" in answer.headers and "output" not in str(answer.request.content[-400:]):
        int(answer.headers["x-ratelimit-reset-requests"])  # "50ms" is no number
    return H.wait(self, answer)


mutant("errors/session-after-an-error", say=says_again)
http_mutant("errors/400", retries_status=retried(400, "hologram"))
http_mutant("errors/400-context-window", retries_status=retried(400, "context window"))
http_mutant("errors/400-without-code", refused=words(400, "parse"))
http_mutant("errors/401", retries_status=retried(401))
http_mutant("errors/403", retries_status=retried(403))
http_mutant("errors/404", retries_status=retried(404))
http_mutant("errors/409", refused=words(409))
http_mutant("errors/413", retries_status=retried(413))
http_mutant("errors/429-quota", refused=words(429, "quota"))
http_mutant("errors/500-always", refused=words(500))
mutant("errors/400-after-a-call", ask=runs_again(400))
mutant("errors/500-after-a-call", **runs_again_on_retry(500))
mutant("errors/503-after-a-call", **runs_again_on_retry(503))
mutant("errors/429-after-a-call", **runs_again_on_retry(429))
mutant("errors/reset-after-a-call", **runs_again_on_retry("connection"))
mutant("errors/no-answer", describe=by_cause(httpx.RemoteProtocolError, says="no answer"))
mutant(
    "errors/reset-before-the-first-byte",
    describe=swallows(
        lambda self, problem: (
            type(problem.__cause__) in (httpx.ReadError, httpx.WriteError, httpx.ConnectError)
            and str(problem).startswith("no answer")
        )
    ),
)
mutant(
    "errors/reset-after-the-headers",
    "stream,replay",
    describe=swallows(lambda self, problem: str(problem).startswith("the connection broke")),
)
mutant("errors/cut-body", describe=by_cause(httpx.RemoteProtocolError, says="the answer broke off"))
mutant("errors/no-headers", describe=by_cause(httpx.ReadTimeout))
impatient("errors/slow-headers", "plain,replay", 0.7)
http_mutant("errors/429-headers", wait=reads_limits)
