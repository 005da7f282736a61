"""Who may use the control plane of a server: no page of another site, and off loopback who has its token."""

import os
import re
import sys
from collections.abc import Iterator

import pytest

from harness.server.control_plane.access import control_access
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from tests.support.processes import run as run_child
from tests.support.servers.json_client import ask, send
from tests.support.servers.served import ROOT, Served, serving
from tests.support.slow import slow_except_every

TOKEN = "a-token-of-mine"
PATHS = ("exchanges", "report", "rules", "unused", "said")


@pytest.fixture(scope="module")
def local() -> Iterator[Served]:
    with serving("--allowed-host", "mock, other.internal") as running:
        yield running


@pytest.fixture(scope="module")
def open_to_all() -> Iterator[Served]:
    with serving("--host", "0.0.0.0", "--control-token", TOKEN) as running:
        yield running


class TestTheHost:
    @pytest.mark.parametrize(
        "name", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[", "localhosts"]
    )
    def test_the_host_of_another_site_is_refused(self, local: Served, name: str) -> None:
        status, said = send(local.port, "GET", "/_harness/exchanges", Host=name)
        assert status == 403
        assert said["error"]["message"].startswith(f"Host {name!r} is not a name of this server.")

    def test_a_refused_host_is_reported_with_the_option_that_allows_it(self, local: Served) -> None:
        said = send(local.port, "GET", "/_harness/rules", Host="ci.example:8765")[1]
        assert said["error"]["message"].endswith("or start it with `--allowed-host ci.example`.")

    @pytest.mark.parametrize(
        "name",
        [
            "127.0.0.1:1",
            "localhost",
            "LOCALHOST:80",
            "app.localhost",
            "[::1]:9",
            "192.168.1.7",
            "mock:8765",
            "Other.internal",
        ],
    )
    def test_a_host_that_is_an_address_or_allowed_is_accepted(self, local: Served, name: str) -> None:
        assert send(local.port, "GET", "/_harness/exchanges", Host=name)[0] == 200

    def test_the_host_of_the_api_may_be_any(self, local: Served) -> None:
        assert send(local.port, "GET", "/v1/models", Host="gateway.example")[0] == 200


class TestTheToken:
    @pytest.mark.parametrize("path", PATHS)
    def test_the_token_is_not_needed_on_loopback(self, local: Served, path: str) -> None:
        assert send(local.port, "GET", f"/_harness/{path}")[0] == 200

    @pytest.mark.parametrize("path", slow_except_every(3, [*PATHS, "nowhere", ""]))
    @pytest.mark.parametrize("sent", [{}, {"X-Harness-Token": "another"}, {"X-Harness-Token": "\xe9"}])
    def test_the_token_is_needed_elsewhere(self, open_to_all: Served, path: str, sent: dict[str, str]) -> None:
        status, said = send(open_to_all.port, "GET", f"/_harness/{path}", **sent)
        assert (status, said["error"]["type"]) == (401, "harness_error")
        assert "send `x-harness-token: …`" in said["error"]["message"]

    @pytest.mark.parametrize("path", PATHS)
    def test_the_token_opens_the_control_plane(self, open_to_all: Served, path: str) -> None:
        assert send(open_to_all.port, "GET", f"/_harness/{path}", **{"X-Harness-Token": TOKEN})[0] == 200

    def test_the_token_is_nothing_to_the_api(self, open_to_all: Served) -> None:
        assert send(open_to_all.port, "GET", "/v1/models")[0] == 200

    @pytest.mark.slow
    def test_the_token_is_made_and_printed_when_there_is_none(self) -> None:
        with serving("--host", "0.0.0.0") as own:
            assert own.child.stdout
            printed = re.fullmatch(r"export HARNESS_CONTROL_TOKEN=(\S{32})\n", own.child.stdout.readline())
            assert printed
            assert send(own.port, "GET", "/_harness/rules")[0] == 401
            assert send(own.port, "GET", "/_harness/rules", **{"X-Harness-Token": printed[1]})[0] == 200

    @pytest.mark.slow
    def test_the_token_is_given_to_a_command(self) -> None:
        asking = (
            "import os, urllib.request as get\n"
            "token = {'X-Harness-Token': os.environ['HARNESS_CONTROL_TOKEN']}\n"
            "print(get.urlopen(get.Request(os.environ['HARNESS_URL'] + '/_harness/rules', headers=token)).status)"
        )
        command = [sys.executable, "-m", "harness", "serve", "--host", "0.0.0.0", "--", sys.executable, "-c", asking]
        assert run_child(command, env={**os.environ, "PYTHONPATH": str(ROOT)}).stdout == "200\n"

    def test_the_token_of_a_server_in_a_thread_is_made_as_well(self) -> None:
        with serve_in_thread(MockApi(), "0.0.0.0") as own:
            assert send(own.port, "GET", "/_harness/rules")[0] == 401

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "no-such-host.invalid"])
    def test_the_token_is_new_for_each_server(self, host: str) -> None:
        assert len({control_access(host).token for _ in range(9)}) == 9

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
    def test_the_token_that_is_given_is_needed_on_loopback_too(self, host: str) -> None:
        assert (control_access(host).token, control_access(host, TOKEN).token) == ("", TOKEN)


class TestThePage:
    def test_the_page_is_complete_and_loads_nothing(self, local: Served) -> None:
        status, page = send(local.port, "GET", "/_harness/docs")
        described = send(local.port, "GET", "/_harness/openapi.json")[1]["paths"]
        assert status == 200
        shown = set(re.findall(r"<h2><code>(\w+) (\S+)</code></h2>", page))
        assert shown == {(method.upper(), path) for path, methods in described.items() for method in methods}
        assert "<ul><li><code>?unused=fail | allow</code>, by default fail</li>" in page
        assert not re.search(r"<(script|link|img|iframe|object)|https?:|src=|//", page)

    def test_the_page_may_load_nothing(self, local: Served) -> None:
        policy = ask(local.port, "GET", "/_harness/docs").headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")

    @pytest.mark.slow
    def test_the_page_is_shown_without_a_token_but_not_to_another_site(self, open_to_all: Served) -> None:
        assert send(open_to_all.port, "GET", "/_harness/docs")[0] == 200
        assert send(open_to_all.port, "GET", "/_harness/docs", Host="evil.example")[0] == 403
