"""`MockContainer`: the mock's image as a container of a test. It needs the extra `testcontainers`."""

from pathlib import Path
from secrets import token_urlsafe
from typing import Self

from harness.core.errors import missing_extra
from harness.server.deadline import run_within

try:
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import HttpWaitStrategy
except ImportError as problem:
    raise missing_extra("MockContainer", str(problem.name), "testcontainers") from problem

PORT = 8080
START_SECONDS = 150.0
"""Seconds from the start of a container to its first healthy answer; testcontainers itself says why after 120."""
SCRIPTS = "/home/harness/scripts"
"""The directory of scripts inside the container."""


class MockContainer(DockerContainer):
    """A container with the mock, from the image built from this project's `Dockerfile`.

    `with MockContainer("responses-harness").with_script("weather.yaml") as container:` waits until the mock is healthy;
    `container.base_url` is then its address. Additional `arguments` are those of `responses-harness serve`. Control
    requests are sent to `url`, with `control_token` in the header `x-harness-token`.
    """

    def __init__(self, image: str = "responses-harness", *arguments: str, port: int = PORT) -> None:
        super().__init__(image)
        self.port, self.control_token = port, token_urlsafe(16)
        self._arguments = ["serve", "--host", "0.0.0.0", "--port", str(port), *arguments]
        self.with_exposed_ports(port)
        self.with_env("HARNESS_CONTROL_TOKEN", self.control_token)
        self.with_command(self._arguments)
        self.waiting_for(HttpWaitStrategy(port, "/_harness/health").with_poll_interval(0.1))

    def with_script(self, file: str | Path) -> Self:
        """Have the mock play a script file of this machine: `.yaml` or `.py`."""
        found = Path(file).resolve(strict=True)
        self._arguments += ["--script", f"{SCRIPTS}/{found.name}"]
        return self.with_volume_mapping(found, f"{SCRIPTS}/{found.name}")

    def start(self) -> Self:
        """Start the container and wait until the mock is healthy; TimeoutError if that takes too long."""
        return run_within(START_SECONDS, super().start, self.stop)

    @property
    def url(self) -> str:
        """The server's URL as seen from this machine."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(self.port)}"

    @property
    def base_url(self) -> str:
        """The root of the API, for a client's base URL."""
        return f"{self.url}/v1"
