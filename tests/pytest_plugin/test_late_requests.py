"""A request that comes when its test has ended fails the run, in the name of that test, and no other test."""

from xml.etree import ElementTree as Xml

import pytest

from harness.report.formats import FORMATS
from tests.support.inner_run import Run
from tests.support.pages import in_page
from tests.support.reports import read_valid_report, what_fails

FAILED, OK = pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.OK
KEEPS_A_CLIENT = """
kept = []

def test_first(mock):
    kept.append(openai.OpenAI(max_retries=0))
"""
ASKS_IN_A_TEARDOWN = """
@pytest.fixture(scope="session")
def agent():
    made = []
    yield made
    swallow(made[0])
"""
LATE = "A request with the key of test_*.py::test_first *"
THREAD = """
gate = threading.Event()
left = []

def work():
    gate.wait(9)
    swallow(kept)

kept = None

def test_first(mock):
    global kept
    kept = openai.OpenAI(max_retries=0)
    left.append(threading.Thread(target=work))
    left[0].start()
"""


def open_gate_at_the_end(pytester: pytest.Pytester) -> None:
    """Let the thread of THREAD go on when all fixtures are gone."""
    pytester.makeconftest("""
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    for module in {item.module for item in session.items}:
        module.gate.set()
""")


class TestAfterTheLastTest:
    def test_a_thread_that_is_left_behind(self, run: Run, pytester: pytest.Pytester) -> None:
        open_gate_at_the_end(pytester)
        run(THREAD).shows(
            "*= responses-harness: after the tests =*",
            LATE,
            "  where   POST /responses, after the last test that used `mock`",
            "  made    test_*.py:*, in test_first: kept = *",
            "  asked   test_*.py:*, in swallow:*",
            "  fix     In test_first, or in a fixture that requests `mock`, wait for everything it started: *",
            '  allow   @pytest.mark.harness(refusals=[[]"auth_invalid_key"])',
            "*Therefore the run fails, with exit code 1.",
            passed=1,
        ).exits(FAILED)

    def test_the_teardown_of_a_sessions_fixture(self, run: Run) -> None:
        run(f"""{ASKS_IN_A_TEARDOWN}
def test_first(agent, mock):
    agent.append(openai.OpenAI(max_retries=0))
""").shows(LATE, "  made    *", "  asked   *", passed=1).exits(FAILED)

    def test_an_executor_that_is_left_behind(self, run: Run) -> None:
        run("""
import time
pool = ThreadPoolExecutor(1)

def slow(client):
    time.sleep(0.2)
    swallow(client)

def test_first(mock):
    pool.submit(slow, openai.OpenAI(max_retries=0))
""").shows(LATE, "  asked   *, in swallow: *").exits(FAILED)

    @pytest.mark.skipif("not __import__('pathlib').Path('/proc/self/environ').exists()")
    def test_a_child_that_is_left_behind(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("harness.pytest_plugin.late_requests.WAIT_SECONDS", 60)
        run("""
import subprocess, sys
CHILD = '''
import os, socket, time
time.sleep(0.1)
host, _, port = os.environ["OPENAI_BASE_URL"].removesuffix("/v1").rpartition("/")[2].partition(":")
with socket.create_connection((host, int(port))) as client:
    key = os.environ["OPENAI_API_KEY"]
    line = "GET /v1/models HTTP/1.1"
    client.sendall(f"{line}\\\\r\\\\nhost: a\\\\r\\\\nauthorization: Bearer {key}\\\\r\\\\n\\\\r\\\\n".encode())
    client.recv(1000)
'''

def test_first(mock, pytestconfig):
    pytestconfig.add_cleanup(subprocess.Popen([sys.executable, "-S", "-c", CHILD]).wait)
""").shows(LATE, "  where   GET /models, *").exits(FAILED)

    @pytest.mark.slow
    @pytest.mark.skipif("'fork' not in __import__('multiprocessing').get_all_start_methods()")
    def test_a_child_of_multiprocessing_that_is_left_behind(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        """Python itself would wait for it, after the mock has ended."""
        monkeypatch.setattr("harness.pytest_plugin.late_requests.WAIT_SECONDS", 60)
        result = run("""
import multiprocessing, time, urllib.error, urllib.request
from concurrent.futures import ProcessPoolExecutor
context = multiprocessing.get_context("fork")
idle = ProcessPoolExecutor(1, context)

def work(url, key):
    time.sleep(1)
    try:
        urllib.request.urlopen(urllib.request.Request(url, headers={"authorization": f"Bearer {key}"}))
    except urllib.error.HTTPError:
        pass

@pytest.mark.filterwarnings("ignore")
def test_first(mock):
    idle.submit(int).result()
    context.Process(target=work, args=(f"{mock.base_url}/models", mock.api_key)).start()
""")
        result.shows(LATE, "  where   GET /models, *").exits(FAILED)
        assert result.duration < 30

    def test_a_key_of_no_test(self, run: Run) -> None:
        run("""
@pytest.fixture(scope="session")
def agent():
    made = []
    yield made
    swallow(openai.OpenAI(api_key="sk-strange", base_url=made[0], max_retries=0))

def test_first(agent, mock):
    agent.append(mock.base_url)
""").shows("A request with the key sk-strange came while no test used `mock` and was refused (401).").exits(FAILED)

    def test_a_request_with_the_key_of_the_session_is_late(self, run: Run) -> None:
        run(
            """
client = openai.OpenAI(max_retries=0)

@pytest.fixture(scope="session")
def agent():
    yield
    swallow(client)

def test_first(agent, mock): ...
""",
            "-o",
            "harness_env=session",
        ).shows(LATE).exits(FAILED)

    def test_what_the_mark_of_its_test_or_the_project_allows_fails_nothing(self, run: Run) -> None:
        test = "def test_first(agent, mock): agent.append(openai.OpenAI(max_retries=0))"
        mark = '@pytest.mark.harness(refusals=["auth_invalid_key"])\n'
        run(ASKS_IN_A_TEARDOWN + mark + test).hides("*after the tests*").exits(OK)
        run(ASKS_IN_A_TEARDOWN + test, "-o", "harness_refusals=allow").exits(OK)

    @pytest.mark.slow
    def test_workers_tell_the_one_that_reports(self, run: Run, pytester: pytest.Pytester) -> None:
        open_gate_at_the_end(pytester)
        run(THREAD, "-n1", "--harness-report=report.xml", apart=True).shows(
            LATE, "  made    *", "*Therefore the run fails, with exit code 1.", passed=1
        ).exits(FAILED)
        assert Xml.parse(pytester.path / "report.xml").getroot().get("errors") == "1"


def test_a_page_counts_it_beside_the_tests(run: Run, pytester: pytest.Pytester) -> None:
    open_gate_at_the_end(pytester)
    run(THREAD, "--harness-report=report.html")
    page, _ = in_page((pytester.path / "report.html").read_text())
    assert page.counts == {"passed": 1, "error": 1}
    assert [row.outcome for row in page.cases] == ["passed", "error"]


def test_every_form_of_a_report_tells_it(run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    open_gate_at_the_end(pytester)
    files = [pytester.path / f"report{suffix}" for suffix in FORMATS]
    result = run(THREAD, *(f"--harness-report={file}" for file in files))
    result.shows("contract: 0 exchanges, 0 refusals expected, 1 unexpected, *").exits(FAILED)
    result.shows("::error file=test_*.py,line=*,title=A request with *")
    for file in files:
        assert "after that test had ended" in what_fails(file), file
    passed, error = read_valid_report(pytester.path / "report.json").cases
    assert (passed.outcome, error.outcome) == ("passed", "error")
    assert passed.id == error.id
    (suite,) = Xml.parse(pytester.path / "report.xml").getroot()
    assert suite.get("errors") == "1"


@pytest.mark.slow
def test_those_that_are_allowed_or_caught_do_not_hide_another(run: Run) -> None:
    run(f"""{KEEPS_A_CLIENT}
@pytest.mark.harness(refusals=["auth_invalid_key"])
def test_allowing(mock):
    kept.append(openai.OpenAI(max_retries=0))

def test_caught(mock):
    for _ in range(21):
        swallow(kept[1])
        with pytest.raises(openai.AuthenticationError):
            kept[0].responses.create(model="gpt-4.1", input="x")

def test_second(mock):
    swallow(kept[0])
""").shows(LATE, "  where   POST /responses, while test_*::test_second ran", passed=4).exits(FAILED)


def test_a_later_test_is_not_blamed_for_what_another_has_left(run: Run) -> None:
    run(f"""{THREAD}
def test_second(mock, openai_client):
    mock.script(message("hi"))
    gate.set()
    left[0].join()
    assert openai_client.responses.create(model="gpt-4.1", input="x").output_text == "hi"
""").shows(LATE, "  where   POST /responses, while test_*", passed=2).exits(FAILED)


def test_a_key_that_a_mark_had_let_in_is_that_of_its_test(run: Run) -> None:
    run("""
@pytest.mark.harness(key="sk-test")
def test_first(mock): ...

def test_second(mock):
    swallow(openai.OpenAI(api_key="sk-test", max_retries=0))
""").shows(LATE, "  fix     *", passed=2).exits(FAILED)


def test_what_a_test_has_caught_or_failed_for_is_not_reported_again(run: Run) -> None:
    run(f"""{KEEPS_A_CLIENT}
def test_caught(mock):
    with pytest.raises(openai.AuthenticationError):
        kept[0].responses.create(model="gpt-4.1", input="x")

def test_expected(mock):
    with mock.refuses("auth_invalid_key"):
        swallow(kept[0])
""").shows(passed=3).exits(OK)
    run(f"""{KEEPS_A_CLIENT}
def test_second(mock):
    kept[0].responses.create(model="gpt-4.1", input="x")
""").shows(passed=1, failed=1).hides("*after the tests*")


def test_a_thread_that_does_not_end_is_named_and_waited_for_a_moment_only(run: Run, monkeypatch) -> None:
    monkeypatch.setattr("harness.pytest_plugin.late_requests.WAIT_SECONDS", 0.05)
    run("""
gate = threading.Event()

def forever(): gate.wait(9)

def test_first(mock):
    threading.Thread(target=forever, name="poller").start()

@pytest.fixture(scope="session", autouse=True)
def _end(request):
    request.config.add_cleanup(gate.set)
""").shows("*thread poller still runs (test_*.py:*, in forever: * after a wait of 0.05 s: *").exits(OK)


def test_an_interrupted_run_waits_for_nothing(run: Run) -> None:
    result = run("""
gate = threading.Event()

def test_first(mock, pytestconfig):
    pytestconfig.add_cleanup(gate.set)
    threading.Thread(target=lambda: gate.wait(20)).start()
    pytest.exit('stop')
""")
    result.exits(pytest.ExitCode.INTERRUPTED)
    assert result.duration < 5


def test_threads_and_children_that_ask_nothing_cost_nothing(run: Run, monkeypatch) -> None:
    monkeypatch.setattr("harness.pytest_plugin.late_requests.WAIT_SECONDS", 9)
    result = run("""
pool = ThreadPoolExecutor(2)

def test_first(mock):
    pool.submit(int).result()
""")
    result.exits(OK)
    assert result.duration < 5


def test_of_many_late_requests_the_first_are_kept_and_the_others_counted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.pytest_plugin.late_requests._MAX_KEPT", 2)
    run(
        f"{KEEPS_A_CLIENT}{ASKS_IN_A_TEARDOWN}    for _ in range(4): swallow(made[0])\n\n"
        "def test_second(agent): agent.extend(kept)"
    ).shows("… and 3 more of such requests", passed=2)
