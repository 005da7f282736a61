"""`--harness-trace`: a file for each failing test, with all that it exchanged."""

import pytest

from harness.viewer.trace import SUFFIX, read_trace

SUITE = """
def test_good(mock, openai_client):
    mock.script(message("hi"))
    openai_client.responses.create(model="gpt-4.1", input="x")

def test_bad(mock, openai_client):
    swallow(openai_client, input=17)
"""


@pytest.fixture(autouse=True)
def _outside_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)


def traces(pytester, folder="harness-traces"):
    return {read_trace(file).case.row.name: file for file in sorted((pytester.path / folder).glob(f"*{SUFFIX}"))}


def test_a_failing_test_leaves_a_trace(run, pytester):
    run(SUITE, "--harness-trace=failed").shows("1 trace: responses-harness view harness-traces")
    [(name, file)] = traces(pytester).items()
    trace = read_trace(file)
    assert name.endswith("::test_bad")
    assert (trace.facts.source, trace.facts.command.split()[0], len(trace.case.exchanges)) == ("trace", "pytest", 1)
    assert [cause.rule for cause in trace.case.row.causes] == ["invalid_type"]
    assert trace.documented["invalid_type"].fix
    assert file.stat().st_size < 6_000
    assert (pytester.path / "harness-traces" / ".gitignore").read_text() == "*\n"


def test_the_trace_of_a_test_that_passes_now_is_removed(run, pytester):
    run(SUITE, "--harness-trace=all", "--harness-trace-dir=kept")
    assert [name.rpartition("::")[2] for name in traces(pytester, "kept")] == ["test_bad", "test_good"]
    run(SUITE, "--harness-trace=failed", "--harness-trace-dir=kept")
    assert [name.rpartition("::")[2] for name in traces(pytester, "kept")] == ["test_bad"]


@pytest.mark.parametrize(
    ("variable", "options", "written"),
    [("", [], False), ("true", [], True), ("1", ["--harness-trace=off"], False), ("false", [], False)],
)
def test_in_ci_failing_tests_leave_traces_unless_switched_off(run, pytester, monkeypatch, variable, options, written):
    monkeypatch.setenv("CI", variable)
    run(SUITE, *options)
    assert (pytester.path / "harness-traces").is_dir() == written


@pytest.mark.slow
def test_workers_of_xdist_write_theirs(run, pytester):
    run(SUITE, "--harness-trace=failed", "-n2", apart=True).shows("1 trace: responses-harness view harness-traces")
    assert len(traces(pytester)) == 1


def test_a_trace_that_cannot_be_written_is_reported(run, pytester):
    (pytester.path / "harness-traces").write_text("a file")
    good = run(SUITE, "--harness-trace=all", "-k", "good")
    good.shows("--harness-trace: *harness-traces: cannot be written: *").assert_outcomes(passed=1, deselected=1)
    assert good.ret == pytest.ExitCode.TESTS_FAILED
    result = run(SUITE, "--harness-trace=failed").shows("--harness-trace: *harness-traces: cannot be written: *")
    result.assert_outcomes(passed=1, failed=1)
