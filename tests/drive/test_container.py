"""The mock in a container: what Docker is asked for, run here by a Docker that has no containers but processes."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from testcontainers.core import container as testcontainers
from testcontainers.core.docker_client import DockerClient

from harness.core.errors import ConfigError
from harness.drive import MockContainer
from tests.support.processes import free_port, spawn
from tests.support.servers.stalling import TRICKLING_HEAD, stalling

ROOT = Path(__file__).parents[2]


class Container:
    """A container that is a process: the image's entry point with its command, files and port of this machine."""

    id = short_id = "c0ffee"
    status = "running"

    def __init__(self, image: str, command: list[str], environment: dict[str, str], **options: Any) -> None:
        self.image, self.command, self.environment, self.options = image, command, environment, options
        self.port = free_port()
        self._open = ExitStack()

    def run(self) -> None:
        (inside,) = self.options["ports"]
        places = {mount["bind"]: host for host, mount in self.options["volumes"].items()}
        here = {inside: str(self.port), "0.0.0.0": "127.0.0.1", **places}
        command = [sys.executable, "-m", "harness", *(here.get(word, word) for word in self.command)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **self.environment}
        self._open.enter_context(spawn(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def remove(self, **_: Any) -> None:
        self._open.close()
        self.status = "removed"

    def reload(self) -> None: ...

    def logs(self, **_: Any) -> bytes:
        return b""


class Docker(DockerClient):
    """A Docker without a daemon."""

    made: Container

    def __init__(self) -> None:
        self.client = self  # type: ignore[assignment]

    def create(self, image: str, **options: Any) -> Any:
        Docker.made = Container(image, **options)
        return Docker.made

    def start(self, container: Any) -> None:
        container.run()

    def host(self) -> str:
        return "127.0.0.1"

    def port(self, container_id: str, port: int) -> str:
        return str(Docker.made.port)

    def get_connection_mode(self) -> Any:
        return testcontainers.ConnectionMode.docker_host

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def docker(monkeypatch: pytest.MonkeyPatch) -> type[Docker]:
    monkeypatch.setattr(testcontainers, "DockerClient", Docker)
    monkeypatch.setattr(testcontainers.c, "ryuk_disabled", True)
    return Docker


def answer_of(container: MockContainer) -> str:
    with openai.OpenAI(base_url=container.base_url, api_key="sk-anything", max_retries=0) as client:
        return client.responses.create(model="gpt-4.1", input="hi").output_text


@pytest.mark.slow
def test_a_started_container_answers(docker):
    with MockContainer("responses-harness:0.2.0") as container:
        assert docker.made.image == "responses-harness:0.2.0"
        assert container.base_url == f"http://127.0.0.1:{docker.made.port}/v1"
        assert answer_of(container).startswith("Hello.")
    assert docker.made.status == "removed"


def test_a_container_whose_health_never_ends_is_given_up_and_removed(docker, monkeypatch, tmp_path):
    (script := tmp_path / "weather.yaml").write_text("script: [Hi.]")
    monkeypatch.setattr("harness.drive.container.START_SECONDS", 0.5)
    monkeypatch.setattr(Container, "run", lambda _: None)
    with stalling(TRICKLING_HEAD) as origin:
        monkeypatch.setattr("tests.drive.test_container.free_port", lambda: int(origin.rpartition(":")[2]))
        with pytest.raises(TimeoutError):
            (container := MockContainer("responses-harness", "--zdr", port=9)).with_script(script).start()
    inside = "/home/harness/scripts/weather.yaml"
    assert docker.made.command == ["serve", "--host", "0.0.0.0", "--port", "9", "--zdr", "--script", inside]
    assert [mount["bind"] for mount in docker.made.options["volumes"].values()] == [inside]
    assert docker.made.environment["HARNESS_CONTROL_TOKEN"] == container.control_token
    assert docker.made.status == "removed"
    assert [*docker.made.options["ports"]] == ["9"]


@pytest.mark.slow
def test_a_script_is_played(tmp_path):
    (tmp_path / "weather.yaml").write_text("script:\n- message: It rains.\n", encoding="utf-8")
    with MockContainer().with_script(tmp_path / "weather.yaml") as container:
        assert answer_of(container) == "It rains."


def test_a_missing_script_is_reported_before_anything_starts(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.yaml"):
        MockContainer().with_script(tmp_path / "none.yaml")


@pytest.mark.slow
def test_control_requests_take_its_token():
    with MockContainer() as container:
        worlds = f"{container.url}/_harness/worlds"
        assert httpx.get(worlds).status_code == 401
        assert httpx.get(worlds, headers={"x-harness-token": container.control_token}).status_code == 200


def test_two_containers_have_two_tokens():
    assert MockContainer().control_token != MockContainer().control_token


@pytest.mark.slow
def test_other_options_are_passed_on_to_serve():
    with MockContainer("responses-harness", "--models", "gpt-5") as container, pytest.raises(openai.APIStatusError):
        answer_of(container)


def test_without_the_extra_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "harness.drive.container", raising=False)
    monkeypatch.setitem(sys.modules, "testcontainers.core.container", None)
    with pytest.raises(ConfigError, match=r'pip install .*\[testcontainers\]"'):
        from harness.drive.container import MockContainer  # noqa: F401
