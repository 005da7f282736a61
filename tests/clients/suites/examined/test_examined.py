"""A table of clients and cases: the newest release of each client meets all but those that docs/results/clients.md explains.

The suite of a client shows what its adapter has no part in: its own results, tools, memories and workflows.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.examine.run_cases import select_cases
from tests.clients.publish import PAGE, examine_release, find_differences, read_environments

CASES = {
    "answers": "text usage refusal phases *-citation *-sent-back incomplete-* failed reasoning-* file-search web-search"
    " code-interpreter image-generation mcp-call hosted-shell",
    "tools": "parallel-calls one-after-another text-beside-a-call arguments-off-schema recovers-from-an-error raises",
    "state": "replay stateless chain conversation history-with-calls compaction-by-threshold",
    "agents": "hand-off* guardrail* nested* approval-* mcp-approval-*",
    "errors": "400 401 404 429-quota 429-retry-after-ms 500-once 500-always 500-after-a-call 503-once reset-once cut-body",
    "streams": "cut-after-[06] cut-within-an-event error-event",
    "dialects": "text tool session citation content-filter project-*",
}
MODES = ["plain,replay", "stream,stateless", "azure", "foundry"]
"""Each way once at OpenAI: the suites of the clients have chains and conversations."""
SECONDS = 60
"""How long a case may take where others run beside it."""


def test_a_release_does_what_is_published(request: pytest.FixtureRequest) -> None:
    adapter = request.config.getoption("--environment")
    newest = next(packages for name, packages in read_environments() if name == adapter)
    chosen = select_cases(",".join(f"{area}/{name}" for area, names in CASES.items() for name in names.split()))
    cache = request.config.getoption("--node-modules").parent.parent
    found = examine_release(adapter, newest, [replace(case, seconds=SECONDS) for case in chosen], MODES, cache)
    assert "\n".join(find_differences(PAGE.read_text(encoding="utf-8"), found)) == ""
