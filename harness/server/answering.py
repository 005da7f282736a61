"""Answers requests to a World: as the contract refuses them, as the operation answers, or with the error raised."""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from traceback import extract_tb

from harness.api.http.dialects import OPENAI
from harness.api.http.other_apis import find_other_api
from harness.api.operations import OPERATIONS, Handler
from harness.contract.call import WorldCall
from harness.contract.check import Checked, Violation, check
from harness.core.account import DEFAULT_ORGANIZATION
from harness.core.delivery import DISCONNECT_AT_END
from harness.core.errors import HarnessError
from harness.core.exchange import Answer, Request
from harness.faults import ScriptedRefusal
from harness.foundry.answer import read_in_dialect, show_in_dialect
from harness.world.api_call import ApiCall
from harness.world.routed_requests import RoutedPath
from harness.world.websocket_state import AnyWorld
from harness.world.world import World

TEAPOT = 418
UNKNOWN_PATHS = ("unknown_url", "resource_not_found", "route_not_found")
"""The rules that refuse unknown paths, one for each dialect."""


Check = Callable[[ApiCall], Checked[ApiCall]]


def check_and_answer(request: Request, world: AnyWorld | None, handler: Handler, check: Check = check) -> Answer:
    """Refuse a request as the contract does, or let the handler answer it; exceptions become answers."""
    if world is not None and world.quotas is not None:
        world.note_arrival(monotonic())
    try:
        refusal, call, _ = check(ApiCall(request, world))
        return handler(call) if refusal is None else _refuse(refusal, request, world)
    except Exception as problem:
        return _answer_exception(problem, request, world)


def answer_routed(routed: RoutedPath, request: Request, world: World) -> tuple[Request, Answer]:
    """Answer a request with the function a test has routed its path to, and return both.

    An exception becomes an answer.
    """
    world.script.current_turn = routed, routed.taken + 1, (routed.place,), 0
    try:
        return request, routed.answer(request)
    except Exception as problem:
        request = request._replace(operation="unknown URL")
        return request, _answer_exception(problem, request, world)


def _answer_exception(problem: Exception, request: Request, world: AnyWorld | None) -> Answer:
    """Turn an exception raised by a rule or a handler into an answer."""
    if isinstance(problem, ScriptedRefusal) and world is not None:
        return _refuse_as_scripted(problem, request, world)
    if not isinstance(problem, HarnessError):
        problem = HarnessError(f"{request.operation}: {describe_defect(problem)}")
    return _report_problem(problem, request, world)


def describe_defect(problem: BaseException) -> str:
    """Describe an exception of the harness's own code and the line that raised it."""
    frames = extract_tb(problem.__traceback__)
    where = f"{frames[-1].name} ({frames[-1].filename}:{frames[-1].lineno}) " if frames else ""
    return f"{where}raised {type(problem).__name__}: {problem}"


def _refuse_as_scripted(fault: ScriptedRefusal, request: Request, world: AnyWorld) -> Answer:
    """Refuse a request as its turn says; if the turn names account settings, by the rules that these break.

    A scripted disconnect sends no answer; the journal records it with status 0.
    """
    if error := fault.refusal.error:
        return Answer(error.status, error.body(), {**(error.headers or {}), **fault.refusal.headers}, expected=True)
    if not fault.refusal.account:
        return Answer(0, delivery=DISCONNECT_AT_END._replace(resets=fault.refusal.resets))
    refusal = check(WorldCall(request, world).with_account(replace(world.account, **fault.refusal.account))).violation
    assert refusal is not None  # an account like this is always refused
    answer = refusal_answer(refusal)
    return answer._replace(headers={**answer.headers, **fault.refusal.headers}, expected=True)


def _refuse(refusal: Violation, request: Request, world: AnyWorld | None) -> Answer:
    """Answer a refused request.

    The refusal counts as asked for if only the limits of the account cause it.
    """
    answer = refusal_answer(refusal)
    if refusal.rule.id in UNKNOWN_PATHS and (named := find_other_api(request)):
        answer = answer._replace(body=named.body())
    if world is None or world.account == DEFAULT_ORGANIZATION:
        return answer
    # Would the default account have been refused, too, and by the same rule? If not, the limits that a test set are
    # why.
    anyway = check(WorldCall(request, world).with_account(DEFAULT_ORGANIZATION)).violation
    return answer._replace(expected=anyway is None or anyway.rule is not refusal.rule)


def _report_problem(problem: HarnessError, request: Request, world: AnyWorld | None) -> Answer:
    if world is not None:
        world.problems.append((request, problem.problem))
    return teapot_answer(problem)


def refusal_answer(refusal: Violation) -> Answer:
    """Build the error answer for a refusal, worded as the API words it."""
    return Answer(refusal.error.status, refusal.error.body(), refusal.error.headers or {}, rule=refusal.rule.id)


def call_handler(call: ApiCall, handler: Handler | None = None) -> Answer:
    """Call a handler, by default that of the operation, and show its answer in the dialect of the request."""
    handler = handler or OPERATIONS[call.request.operation].handler
    if call.request.dialect == OPENAI:
        return handler(call)
    return show_in_dialect(call, handler(read_in_dialect(call)))


def teapot_answer(problem: HarnessError) -> Answer:
    """Answer with a problem that only the user of the harness can fix, as a 418 that no SDK retries."""
    error = {"message": str(problem), "type": "harness_error", "param": None, "code": type(problem).__name__}
    return Answer(TEAPOT, {"error": error}, {"x-should-retry": "false"})


def non_retryable_answer(problem: str) -> Answer:
    """Build the answer for a problem that only the user can fix, so that no SDK retries it."""
    answer = teapot_answer(HarnessError(problem))
    return answer._replace(headers={"content-type": "application/json", **answer.headers})
