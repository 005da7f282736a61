"""Where a module is tested: in a file of its name, or of its folder's, among the tests of its package.

A part that one module alone imports is tested with that one. What else is tested elsewhere is listed here, and no more.
"""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from tests.support.sources import ROOT, sources

HARNESS = ROOT / "harness"
TESTS = ROOT / "tests"
FUNCTION = re.compile(r"^ *(?:async )?def ", re.M)
PATH = re.compile(r"(?<=\s)(?:tests|integrations|tools|bench)/[\w./-]+")

FOLDERS = {
    "foundry/": "foundry",  # what a project has, tested over its endpoints
    "api/resources/": "endpoints",  # what the API stores, tested with its endpoints
    "examine/cases/": "examine/test_mutants.py",  # each case catches a mutant of the reference client
    "items/": "items",  # a builder for each kind of item
    "overrides/": "overrides/test_learn.py",  # the steps of `responses-harness learn`
    "server/transport/": "server/transport",  # the parts of a connection
}
"""Folders whose modules are entries of one kind or parts of one thing, and what tests all of them."""

TESTED_WITH = {
    "analysis/test_client_mistakes.py": {"analysis/client_mistake", "analysis/receivers"},
    "analysis/test_losses.py": {"analysis/loss"},
    "answers/test_reader.py": {"answers/recorded_stream"},
    "cassettes/format/test_serializer.py": {"cassettes/format/har_and_vcr", "cassettes/format/readable_yaml"},
    "cli/test_catalogue.py": {"report/troubleshooting"},
    "cli/test_serve_and_run.py": {"drive/client_environment"},
    "cli/test_view.py": {"viewer/trace"},
    "contract/evidence/test_rules.py": {"verify/examples"},
    "end_to_end/recording/test_record.py": {"cli/record", "cli/run_command"},
    "endpoints/test_classic_agents.py": {"api/classic"},
    "endpoints/test_responses.py": {"answers/prompt", "answers/response"},
    "examine/test_explore.py": {"world/exploration"},
    "examine/test_mutants.py": {"examine/case", "examine/session", "examine/tool_server"},
    "explain/test_find_causes.py": {"explain/mistakes"},
    "explain/test_refusal.py": {"explain/missing_outputs"},
    "explain/test_render.py": {"explain/cause"},
    "foundry/test_agents.py": {"api/project_types"},
    "foundry/test_azure.py": {"contract/dialect_body"},
    "live/test_drift.py": {"cli/drift"},
    "live/test_resend.py": {"live/websocket"},
    "overrides/test_learn.py": {"cli/learn", "contract/overrides"},
    "pytest_plugin/test_environment.py": {"server/lazy_server"},
    "pytest_plugin/test_tls.py": {"drive/clients"},
    "report/test_report.py": {"report/fill_case"},
    "server/control_plane/test_changes.py": {"server/held_requests"},
    "server/control_plane/test_app.py": {
        "report/judge_world",
        "world/scripting/settings",
    },
    "server/test_mock_api.py": {"endpoints/request", "server/answering", "world/api_call"},
    "server/test_webhook_courier.py": {"server/webhook_receivers"},
    "server/websocket/test_session.py": {"endpoints/websocket_events", "world/websocket_state"},
    "verify/judging/test_judge.py": {"verify/judging/circumstances", "verify/judging/mock_answer"},
    "world/test_document.py": {"world/resources", "world/scripting/validation"},
    "world/test_webhooks.py": {"core/webhooks"},
}
"""Modules that are tested through others, by the file of tests that says best what they do."""


@cache
def users_of() -> dict[str, set[str]]:
    """For each module those that import it."""
    users: dict[str, set[str]] = defaultdict(set)
    for user in sources().values():
        for name in {*user.imports, *(name.rpartition(".")[0] for name in user.imports)} & sources().keys():
            users[place(sources()[name].file)].add(place(user.file))
    return users


def place(file: Path) -> str:
    """Return the path of a module below `harness/`, without suffix."""
    return file.relative_to(HARNESS).with_suffix("").as_posix()


@cache
def names_of_tests() -> dict[str, set[str]]:
    """Return what the files of tests of each package are named after."""
    names = defaultdict(set)
    for file in TESTS.rglob("test_*.py"):
        names[file.relative_to(TESTS).parts[0]].add(file.stem.removeprefix("test_"))
    return names


def behaves(file: Path) -> bool:
    """Return whether a module has a function, which a test can call."""
    return FUNCTION.search(file.read_text(encoding="utf-8")) is not None


@cache
def modules() -> list[str]:
    """Return the modules with behaviour."""
    return [place(file) for file in sorted(HARNESS.rglob("*.py")) if file.stem[0] != "_" and behaves(file)]


def found_by_name(module: str) -> bool:
    """Return whether the tests of its package have a file of the name of a module, or of a folder that it is in."""
    package, *names = module.split("/")
    return not names_of_tests()[package].isdisjoint(names)


def found(module: str) -> bool:
    """Return whether a module is found by its name, or is a part of one that is."""
    users = users_of()[module]
    return found_by_name(module) or (len(users) == 1 and found_by_name(*users))


def exceptions() -> list[str]:
    return [name for names in TESTED_WITH.values() for name in names]


def test_a_module_is_tested_in_a_file_of_its_name():
    lost = {name for name in modules() if not found(name) and not name.startswith(tuple(FOLDERS))} - {*exceptions()}
    assert not lost, "write tests/PACKAGE/test_MODULE.py"


def test_no_exception_is_listed_in_vain_or_twice():
    needed = {name for name in modules() if not found(name)}
    assert not {*exceptions()} - needed
    assert len(exceptions()) == len({*exceptions()})
    assert not [folder for folder in FOLDERS if not any(name.startswith(folder) for name in needed)]
    assert not [name for name in exceptions() if name.startswith(tuple(FOLDERS))]


def test_what_is_tested_elsewhere_is_tested_there():
    assert not [tests for tests in [*TESTED_WITH, *FOLDERS.values()] if not (TESTS / tests).exists()]


def test_the_checks_of_a_change_name_paths_that_exist():
    named = {path for file in (ROOT / ".ci").iterdir() for path in PATH.findall(file.read_text(encoding="utf-8"))}
    assert "tests/pytest_plugin/test_plugin.py" in named
    assert not [path for path in named if not (ROOT / path).exists()]
