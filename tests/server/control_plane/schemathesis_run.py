"""The control plane against its own OpenAPI document: `python -m tests.server.control_plane.schemathesis_run`.

Runs in process, in an environment with schemathesis, which `test_openapi` makes: its plugin of pytest would cost
each of the many short runs of the tests more than a second. Prints each failure once; ends with 1 if there is any.
"""

import contextlib
import sys
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from harness.core.exchange import ReceivedRequest
from harness.items import function_call, message
from harness.server.control_plane.access import control_access
from harness.server.http_server import App
from harness.server.mock_api import MockApi
from tests.fuzz.stands import sampled

EXAMPLES = 60
KEY = "sk-openapi"
AUTH = {"authorization": f"Bearer {KEY}"}
ENDLESS = "GET /_harness/events"


def main() -> int:
    """Check every operation with requests that fit the document, and with some that do not."""
    import schemathesis
    from schemathesis.core.failures import FailureGroup
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    app = App(MockApi(), control_access("127.0.0.1", hosts=("testserver",)))
    document = schemathesis.openapi.from_asgi("/_harness/openapi.json", app)
    failures: dict[str, str] = {}
    sent = 0
    operations = [operation.ok() for operation in document.get_all_operations()]
    for operation in (finite for finite in operations if finite.label != ENDLESS):
        for mode in schemathesis.GenerationMode:

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=[*HealthCheck],
                phases=[Phase.generate],
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case: schemathesis.Case) -> None:
                nonlocal sent
                sent += 1
                use(app.api)
                try:  # what a script may hold, and what was said before, no schema says
                    case.call_and_validate(headers=AUTH, excluded_checks=[positive_data_acceptance])
                except FailureGroup as group:
                    failures.update(
                        (f"{case.operation.label}: {exception.title}", str(exception)) for exception in group.exceptions
                    )
                except Exception as problem:
                    if type(problem).__module__.startswith("hypothesis"):
                        raise
                    failures[f"{case.operation.label}: {type(problem).__name__}"] = f"{problem}\n{case.body!r}"

            run(check)
    for name, text in failures.items():
        print(f"{name}\n{text}\n")
    print(f"{sent} requests, {len(failures)} kinds of failure")
    return 1 if failures else 0


def run(check: Callable[[], None]) -> None:
    """Run a check; an operation without a body and parameters has no requests that do not fit."""
    with contextlib.suppress(Unsatisfiable):
        check()


def use(api: MockApi) -> None:
    """Have something in the journal that the requests can read."""
    mock = api.open(KEY)
    if not mock.exchanges:
        mock.script([function_call("f", {"a": 1})], message("Hi."))
        for seed in sampled().seeds[:12]:
            api.handle(ReceivedRequest(seed.method, seed.path, {**seed.headers, **AUTH}, seed.query, seed.body))


if __name__ == "__main__":
    sys.exit(main())
