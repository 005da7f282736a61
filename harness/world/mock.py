"""`Mock`: a test's handle on its World, provided by the fixture `mock`."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args
from urllib.parse import urlsplit

import harness.analysis.client_mistakes  # noqa: F401  (registers every mistake)
from harness.analysis.call_ledger import CodingRun
from harness.analysis.client_mistake import check_mistakes
from harness.analysis.judgement import AllowedMistakes
from harness.answers.assistants_run_events import CitationPlacement
from harness.api.http.dialects import API_ROOTS, FOUNDRY
from harness.api.models import Model
from harness.core.account import Organization
from harness.core.delivery import Gate
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.json_values import without_nulls
from harness.core.registry import named_arguments
from harness.core.text import show
from harness.core.webhooks import DEFAULT_SECRET, EVENT_TYPES, TIMEOUT_SECONDS
from harness.world.background import advance_pending
from harness.world.exploration import Exploration, Scenario
from harness.world.journal_views import JournalViews
from harness.world.mcp_server import McpServer, build_server
from harness.world.refusals import ExpectedRefusal
from harness.world.resources import make_resource
from harness.world.route import Matcher, Route, Turn
from harness.world.routed_requests import make_routed
from harness.world.webhooks import FAULTS, NO_COURIER, Webhooks, check_names
from harness.world.world import World


class Webhook:
    """A webhook of a test; `secret` verifies its deliveries, `url` is where they are sent."""

    __slots__ = ("_world", "id")

    def __init__(self, world: World, id: str) -> None:
        self._world = world
        self.id = id

    def __repr__(self) -> str:
        return f"<webhook {self.id} to {self.url}>"

    @property
    def url(self) -> str:
        """The URL that deliveries are posted to."""
        return self._webhooks.endpoints[self.id].url

    @property
    def secret(self) -> str:
        """The secret that signs deliveries."""
        return self._webhooks.endpoints[self.id].secret

    @property
    def faults(self) -> tuple[str, ...]:
        """What goes wrong with its deliveries; can be set: `hook.faults = ["doubled"]`."""
        return tuple(self._webhooks.endpoints[self.id].faults)

    @faults.setter
    def faults(self, names: list[str] | tuple[str, ...]) -> None:
        check_names("faults", names, FAULTS)
        endpoints = self._webhooks.endpoints
        endpoints[self.id] = replace(endpoints[self.id], faults=tuple(names))

    def rotate(self, secret: str = "", *, keep_old: bool = False) -> str:
        """Sign with another secret, by default a new one; with `keep_old` the old one also signs for a day."""
        return self._webhooks.rotate(self.id, self._world.now, keep_old=keep_old, secret=secret).secret

    def remove(self) -> None:
        """Stop all deliveries."""
        self._webhooks.endpoints.pop(self.id, None)

    @property
    def _webhooks(self) -> Webhooks:
        webhooks = self._world.webhooks
        if webhooks is None or self.id not in webhooks.endpoints:
            raise ConfigError(f"the webhook {self.id} was removed.")
        return webhooks


def make_webhook(world: World, receiver: Any, path: str, url: str, options: dict[str, Any]) -> Webhook:
    """Add a webhook to a World; ConfigError if nothing delivers webhooks there."""
    if world.courier is None:
        raise ConfigError(NO_COURIER)
    address, call = world.courier.lead(receiver, path, url)
    dates = {"created_at": world.now, "updated_at": world.now}
    endpoint = world.open_webhooks().add_endpoint(address, receiver=call, **dates, **options)
    return Webhook(world, endpoint.id)


class Mock(JournalViews):
    """The handle of a test: scripts for the model, settings, and views of what happened.

    It has no state of its own; everything is in `world`.
    """

    __slots__ = ()

    def __init__(self, world: World | None = None) -> None:
        super().__init__(world or World())

    def __dir__(self) -> list[str]:
        return [name for name in (*vars(Mock), *vars(JournalViews)) if not name.startswith("_")]

    @property
    def base_url(self) -> str:
        """The root of the API, such as `http://127.0.0.1:8000/v1`."""
        return self.world.base_url

    @property
    def api_key(self) -> str:
        """The API key of this World."""
        return self.world.api_key

    @property
    def azure_endpoint(self) -> str:
        """The endpoint for an Azure OpenAI client."""
        return urlsplit(self.base_url)._replace(path="").geturl()

    @property
    def project_endpoint(self) -> str:
        """The project endpoint for an Azure AI Foundry client."""
        return self.azure_endpoint + API_ROOTS[FOUNDRY].removesuffix("/openai/v1")

    @named_arguments
    def script(self, *turns: Turn, repeat: bool = False) -> Route:
        """Add turns for requests that no `when` route answers, one per request; with `repeat` they start over."""
        return self.world.script.add(turns, repeat)

    @named_arguments
    def when(
        self,
        *,
        instructions: Matcher | None = None,
        tools: Matcher | None = None,
        model: Matcher | None = None,
        input: Matcher | None = None,
        user: Matcher | None = None,
        call_id: Matcher | None = None,
        agent: Matcher | None = None,
    ) -> Route:
        """Add a route: `mock.when(instructions="planner").script(message("…"))`.

        See `conditions.is_match` for matching.
        """
        named = {"instructions": instructions, "tools": tools, "model": model, "input": input}
        named |= {"user": user, "call_id": call_id, "agent": agent}
        return self.world.script.when(without_nulls(named))

    @named_arguments
    def route(
        self, method: str, path: str, answer: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer a part of the API that is not mocked: `mock.route("POST", "/embeddings", {"object": "list", …})`.

        `path` is relative to the base URL of any provider; `{name}` in it matches one segment. `answer` is a dict, a
        string, bytes, an `http_error`, an `Answer` with its own status and headers, or a function of the request that
        returns one of these; it answers every request, while a list has one answer per request. The newest route of a
        path wins. Such requests appear in `mock.exchanges`, but are not judged.
        """
        self.world.routed = (make_routed(method, path, answer, status, headers), *self.world.routed)

    @named_arguments
    def webhooks(
        self,
        receiver: Any,
        path: str = "",
        *,
        url: str = "",
        secret: str = DEFAULT_SECRET,
        events: Sequence[str] = EVENT_TYPES,
        faults: Sequence[str] = (),
        late: int = 0,
        timeout: float = TIMEOUT_SECONDS,
        effects: Callable[[], Any] | None = None,
    ) -> Webhook:
        """Send webhooks when background responses end: `mock.webhooks("http://localhost:8000/hook")`.

        `receiver` is a URL, or an ASGI or WSGI app with the `path` of the hook: `mock.webhooks(app, "/hook")`; with
        `url` the app receives what is sent to a public URL that the code under test registers itself. `faults` names
        what goes wrong in delivery: `doubled`, `reordered`, `forged`, `unsigned`, `stale`. A first delivery is `late`
        by that many seconds; `mock.skip` passes this time as well as the waits before retries. `effects` is a function
        whose value must not change when an event is delivered again: `lambda: len(orders)`.
        """
        options = {"secret": secret, "events": events, "faults": faults, "late": late, "timeout": timeout}
        return make_webhook(self.world, receiver, path, url, {**options, "effects": effects})

    def mcp(self, server_label: str, tools: Mapping[str, Any]) -> McpServer:
        """Script a remote MCP server: `mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live", "status": "up"})`.

        `tools` maps the name of each tool to its result: a string, other JSON, a function of the arguments by name, a
        `ToolError`; or to a dict with the `result` and what the list of tools shows: `description`, `input_schema`,
        `annotations`. From then on a scripted `mcp_call` without output is made, or its approval requested, depending
        on `require_approval` in the request.
        """
        server = build_server(server_label, tools)
        self.world.mcp_servers.add(server)
        return server

    def gate(self, name: str) -> Gate:
        """Return a gate by name: `pause(turn, after=3, until="shown")` waits until `mock.gate("shown").open()`."""
        return self.world.gate(name)

    def organization(self, **changes: Any) -> Organization:
        """Change the account behind the key: `mock.organization(zdr=True, models={"gpt-4.1"})`; returns it."""
        return self.world.organization(**changes)

    def refuses(self, text: str) -> ExpectedRefusal:
        """Expect a refusal in a `with` block, by a rule's id or area or a part of the message; fails if none comes.

        Every other refusal fails the test. The block provides the exchange: `with mock.refuses("call_needs_output") as
        refused: …`, then `refused.exchange`, `refused.error`.
        """
        if not isinstance(text, str):
            raise ConfigError(
                f"refuses({show(text)}): pass the id of a rule, an area of rules, or part of the error's message."
            )
        return self.world.refusals.expect(text)

    def add_model(self, family: Model) -> None:
        """Add a family of models to this World, or replace the family of that name."""
        self.world.models = self.world.models.with_family(family)

    def allows(self, *mistakes: str) -> AllowedMistakes:
        """Allow mistakes of the client in a `with` block, or from now on: `with mock.allows("no-backoff"): …`."""
        check_mistakes(mistakes)
        allowed = AllowedMistakes(mistakes, self.exchanges)
        self.world.client = replace(self.world.client, allowed=(*self.world.client.allowed, allowed))
        return allowed

    def learn(self, family: Model) -> None:
        """Add a family of models, as `add_model` does, whose old name goes in the next release."""
        warnings.warn("mock.learn is now mock.add_model; the old name goes.", DeprecationWarning, stacklevel=2)
        self.add_model(family)

    @named_arguments
    def file(
        self, name: str, data: bytes | str = b"", *, purpose: str = "user_data", expires_after: int | None = None
    ) -> str:
        """Upload a file: `mock.file("a.txt", "Paris")`, which expires after `expires_after` seconds; returns its id."""
        in_project = self.world.dialect == FOUNDRY
        return self.world.uploads.add_file(name, data, purpose, expires_after, in_project=in_project)

    def vector_store(self, *files: str, **members: Any) -> str:
        """Create a vector store of uploaded files, by id, with members of `POST /vector_stores`; returns its id."""
        return self.world.uploads.add_store(files, members, in_project=self.world.dialect == FOUNDRY)

    def container(self, *files: str, **members: Any) -> str:
        """Create a container with copies of uploaded files by id, and members of `POST /containers`; returns its id."""
        return self.world.add_container({**members, "file_ids": list(files)})

    def container_file(self, container: str, name: str, data: bytes | str = b"") -> str:
        """Add a file to a container, as if code in it had written it; returns its id for `container_file_citation`."""
        raw = data.encode() if isinstance(data, str) else data
        return str(self.world.containers.add_file(container, name, raw, source="assistant")["id"])

    def agent(
        self,
        name: str,
        *,
        kind: str = "prompt",
        description: str = "",
        metadata: Mapping[str, str] | None = None,
        **definition: Any,
    ) -> str:
        """Create a version of an agent: `mock.agent("helper", model="gpt-4.1", instructions="…")`; returns its id.

        Further members are those of its kind's definition: `tools`, `text`, `structured_inputs`, or `workflow` of a
        workflow.
        """
        described = {"description": description, "metadata": dict(metadata or {})}
        return make_resource(self.world, "agent", name, {**described, "kind": kind, **definition})

    def connection(self, name: str, **members: Any) -> str:
        """Create a connection: `mock.connection("search", type="CognitiveSearch", credentials="key")`; returns its id.

        Members: `type`, `target`, `credentials` (a key, or an object with a `type`), `isDefault`, `metadata`. The first
        connection of a type is its default.
        """
        return make_resource(self.world, "connection", name, members)

    def deployment(self, name: str, **members: Any) -> str:
        """Create a deployment: `mock.deployment("mine", modelName="gpt-4.1")`; returns its name."""
        return make_resource(self.world, "deployment", name, members)

    def index(self, name: str, **members: Any) -> str:
        """Create an index: `mock.index("docs", connectionName="search", indexName="docs")`; returns its id."""
        return make_resource(self.world, "index", name, members)

    def dataset(self, name: str, **members: Any) -> str:
        """Create a dataset with files to download: `mock.dataset("faq", files={"a.txt": "…"})`; returns its id."""
        return make_resource(self.world, "dataset", name, members)

    def memory_store(self, name: str, **members: Any) -> str:
        """Create a memory store: `mock.memory_store("m", scope="user_1", memories=["Likes tea."])`; returns its id.

        A memory is a string in the `scope`, or an object with `content`, `kind` and `scope`.
        """
        return make_resource(self.world, "memory_store", name, members)

    def skill(self, name: str, **members: Any) -> str:
        """Create a skill's version, its default: `mock.skill("refunds", instructions="…")`; returns its id."""
        return make_resource(self.world, "skill", name, members)

    def toolbox(self, name: str, **members: Any) -> str:
        """Create a toolbox's version, its default: `mock.toolbox("box", tools=[…])`; returns its id."""
        return make_resource(self.world, "toolbox", name, members)

    @named_arguments
    def explore(
        self,
        scenario: Scenario,
        cases: str = "*",
        *,
        seed: int = 0,
        combined: int = 0,
        generate: Any = None,
        examples: int = 100,
    ) -> Exploration:
        """Run a scenario under variations of the model's answers, and list those that change its result.

        `scenario` is a function, async or not, of a fresh mock, to which every client of the test is connected
        meanwhile: it scripts the mock, runs the code under test and returns its result. `cases` chooses kinds of
        variations (`streams/*,errors/*`), `combined` is the number of combinations to try as well; the same `seed`
        tries the same ones. With `generate`, a hypothesis strategy such as `scripts(tools=[…])`, the scenario scripts
        nothing: it runs with `examples` generated scripts, and raises if the outcome is wrong.
        """
        if self.world.explorer is None:
            raise ConfigError("explore: only the pytest fixture `mock` can explore.")
        if generate is not None:
            if cases != "*" or combined:
                raise ConfigError("explore: a generated script has no variations; leave out `cases` and `combined`.")
            return self.world.explorer.generated(scenario, generate, seed, examples)
        return self.world.explorer(scenario, cases, seed, combined)

    def coding_agent(self, name: str, **options: Any) -> Callable[..., CodingRun]:
        """Configure a coding agent of the command line for this mock: `codex = mock.coding_agent("codex")`.

        `codex("fix the test")` runs it in a folder and returns a `CodingRun`; see `drive.CodingAgent` for the options.
        """
        if self.world.coding_agents is None:
            raise ConfigError(
                "coding_agent: only the pytest fixture `mock` has them; use harness.drive.CodingAgent(…)."
            )
        return self.world.coding_agents(name, **options)

    @property
    def automatic(self) -> bool:
        """Whether each retrieve of a background response or run advances it; if not, only `advance` does."""
        return self.world.automatic

    @automatic.setter
    def automatic(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ConfigError(f"automatic = {show(value)}: use True or False.")
        self.world.automatic = value

    @property
    def citations(self) -> CitationPlacement:
        """Where the stream of a run carries annotations: in deltas, in the completed message, or in both."""
        return self.world.citations

    @citations.setter
    def citations(self, value: CitationPlacement) -> None:
        known = get_args(CitationPlacement)
        if value not in known:
            raise ConfigError(f"citations = {show(value)}: pass one of {', '.join(map(repr, known))}.")
        self.world.citations = value

    def advance(self, id: str | None = None) -> list[Json]:
        """Advance a background response or run, or all without `id`, by one step: queued, in progress, completed.

        Returns each one in its new state; ConfigError if nothing in progress has this `id`.
        """
        moved = advance_pending(self.world, id)
        self._deliver()
        return moved

    def skip(self, seconds: int) -> int:
        """Let time pass, for example until a connection is too old; returns the World's time in unix seconds."""
        now = self.world.skip(seconds)
        self._deliver()
        return now
