"""`Mock`: what a test holds of its World, as the fixture `mock` gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args
from urllib.parse import urlsplit

import harness.analysis.client_mistakes  # noqa: F401  (registers every mistake)
from harness.analysis.client_mistake import check_mistakes
from harness.answers.run_events import CitationPlacement
from harness.api.http.dialects import API_ROOTS, FOUNDRY
from harness.api.models import Model
from harness.core.account import Organization
from harness.core.arguments import named_arguments
from harness.core.client_judgement import AllowedMistakes
from harness.core.delivery import Gate
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.webhooks import DEFAULT_SECRET, EVENT_TYPES, TIMEOUT_SECONDS
from harness.world.conditions import Matcher
from harness.world.exploration import Exploration, Scenario
from harness.world.journal_views import JournalViews
from harness.world.mcp_server import McpServer, build_server
from harness.world.mock_webhook import Webhook, make_webhook
from harness.world.project_agents import make_agent
from harness.world.project_resources import make_resource
from harness.world.refusals import ExpectedRefusal
from harness.world.route import Route, Turn
from harness.world.routed import make_routed
from harness.world.world import World


class Mock(JournalViews):
    """The mock as a test sees it: scripts for the model, settings, and views of what happened.

    It holds nothing itself; `world` has all of it.
    """

    __slots__ = ()

    def __init__(self, world: World | None = None) -> None:
        super().__init__(world or World())

    def __dir__(self) -> list[str]:
        return [name for name in (*vars(Mock), *vars(JournalViews)) if not name.startswith("_")]

    @property
    def base_url(self) -> str:
        """The root of the API, say `http://127.0.0.1:8000/v1`."""
        return self.world.base_url

    @property
    def api_key(self) -> str:
        """The key that leads a client to this World."""
        return self.world.api_key

    @property
    def azure_endpoint(self) -> str:
        """The endpoint for clients of Azure OpenAI."""
        return urlsplit(self.base_url)._replace(path="").geturl()

    @property
    def project_endpoint(self) -> str:
        """The project endpoint for clients of Azure AI Foundry."""
        return self.azure_endpoint + API_ROOTS[FOUNDRY].removesuffix("/openai/v1")

    @named_arguments
    def script(self, *turns: Turn, repeat: bool = False) -> Route:
        """Add turns for the next requests that no `when` route answers, one a request; with `repeat` again and again."""
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
        """Add a route: `mock.when(instructions="planner").script(message("…"))`; see `conditions.is_match` for matching."""
        named = {"instructions": instructions, "tools": tools, "model": model, "input": input}
        named |= {"user": user, "call_id": call_id, "agent": agent}
        return self.world.script.when({name: wanted for name, wanted in named.items() if wanted is not None})

    @named_arguments
    def route(
        self, method: str, path: str, answer: Any, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer another part of the API than is mocked: `mock.route("POST", "/embeddings", {"object": "list", …})`.

        The path is that below the base URL, of each provider; `{name}` in it stands for one part. `answer` is a dict, a
        text, bytes, an `http_error`, an `Answer` with its own status and headers, or a function of the request that returns
        one of these, for every request; a list has one for each. The newest route of a path answers. Such requests are in
        `mock.exchanges`, and nobody judges them.
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
        """Tell a receiver of background responses that have ended: `mock.webhooks("http://localhost:8000/hook")`.

        It is a URL, or an ASGI or WSGI app with the `path` of the hook: `mock.webhooks(app, "/hook")`; or the receiver of a
        public `url` that the code under test registers itself. `faults` are what goes wrong on the way: `doubled`,
        `reordered`, `forged`, `unsigned`, `stale`. A first delivery is `late` by so many seconds, which `mock.skip` lets
        pass as it does the waits before retries. `effects` is a function of yours whose value a delivery that comes again
        must not change: `lambda: len(orders)`.
        """
        options = {"secret": secret, "events": events, "faults": faults, "late": late, "timeout": timeout}
        return make_webhook(self.world, receiver, path, url, {**options, "effects": effects})

    def mcp(self, server_label: str, tools: Mapping[str, Any]) -> McpServer:
        """Script a remote MCP server: `mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live", "status": "up"})`.

        By the name of each tool its result: a text, other JSON, a function of the arguments by name, a `ToolError`; or a
        dict with the `result` and what the list of tools shows: `description`, `input_schema`, `annotations`. From then on
        an `mcp_call` of a script without output is made, or its approval requested, as `require_approval` of the request
        demands.
        """
        server = build_server(server_label, tools)
        self.world.mcp_servers.add(server)
        return server

    def gate(self, name: str) -> Gate:
        """Return the gate of a name: `pause(turn, after=3, until="shown")` waits until `mock.gate("shown").open()`."""
        return self.world.gate(name)

    def organization(self, **changes: Any) -> Organization:
        """Change the account behind the key, say `mock.organization(zdr=True, models={"gpt-4.1"})`; returns it."""
        return self.world.organization(**changes)

    def refuses(self, text: str) -> ExpectedRefusal:
        """Expect a refusal in a `with` block, by the id of a rule, an area or a part of the message; fails when none comes.

        Every other refusal fails the test. The block holds the exchange:
        `with mock.refuses("call_needs_output") as refused: …`, then `refused.exchange`, `refused.error`.
        """
        if not isinstance(text, str):
            raise ConfigError(
                f"refuses({text!r}): give the id of a rule, an area of rules, or a part of the error's message."
            )
        return self.world.refusals.expect(text)

    def add_model(self, family: Model) -> None:
        """Add a family of models to this World, or replace the family of that name."""
        self.world.models = self.world.models.with_family(family)

    def allows(self, *mistakes: str) -> AllowedMistakes:
        """Allow mistakes of the client in a `with` block, or from now on: `with mock.allows("no-backoff"): …`."""
        check_mistakes(mistakes, "allows")
        allowed = AllowedMistakes(mistakes, self.exchanges)
        self.world.client = replace(self.world.client, allowed=(*self.world.client.allowed, allowed))
        return allowed

    learn = add_model
    """Do the same by its old name."""

    @named_arguments
    def file(
        self, name: str, data: bytes | str = b"", *, purpose: str = "user_data", expires_after: int | None = None
    ) -> str:
        """Upload a file, say `mock.file("a.txt", "Paris")`, that expires after so many seconds; returns its id."""
        in_project = self.world.dialect == FOUNDRY
        return self.world.uploads.add_file(name, data, purpose, expires_after, in_project=in_project)

    def vector_store(self, *files: str, **members: Any) -> str:
        """Make a vector store of uploaded files, by their ids, with members of `POST /vector_stores`; returns its id."""
        return self.world.uploads.add_store(files, members, in_project=self.world.dialect == FOUNDRY)

    def container(self, *files: str, **members: Any) -> str:
        """Make a container with copies of uploaded files, by their ids, and members of `POST /containers`; its id."""
        return self.world.add_container({**members, "file_ids": list(files)})

    def container_file(self, container: str, name: str, data: bytes | str = b"") -> str:
        """Put a file into a container, as if code there had written it; returns its id for `container_file_citation`."""
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
        """Give the project a version of an agent: `mock.agent("helper", model="gpt-4.1", instructions="…")`; its id.

        Members are those of the definition of its kind: `tools`, `text`, `structured_inputs`, of a workflow `workflow`.
        """
        described = {"description": description, "metadata": dict(metadata or {})}
        return make_agent(self.world, name, kind, described, definition)

    def connection(self, name: str, **members: Any) -> str:
        """Give the project a connection, say `mock.connection("search", type="CognitiveSearch", credentials="key")`; its id.

        Members: `type`, `target`, `credentials` (a key, or an object with a `type`), `isDefault`, `metadata`. The first one
        of a type is the default one.
        """
        return make_resource(self.world, "connection", name, members)

    def deployment(self, name: str, **members: Any) -> str:
        """Give the project a deployment: `mock.deployment("mine", modelName="gpt-4.1")`; returns its name."""
        return make_resource(self.world, "deployment", name, members)

    def index(self, name: str, **members: Any) -> str:
        """Give the project an index: `mock.index("docs", connectionName="search", indexName="docs")`; returns its id."""
        return make_resource(self.world, "index", name, members)

    def dataset(self, name: str, **members: Any) -> str:
        """Give the project a dataset whose files can be downloaded: `mock.dataset("faq", files={"a.txt": "…"})`; its id."""
        return make_resource(self.world, "dataset", name, members)

    def memory_store(self, name: str, **members: Any) -> str:
        """Give the project a memory store: `mock.memory_store("m", scope="user_1", memories=["Likes tea."])`; its id.

        A memory is a text of the `scope`, or an object with `content`, `kind` and `scope`.
        """
        return make_resource(self.world, "memory_store", name, members)

    def skill(self, name: str, **members: Any) -> str:
        """Give the project a version of a skill, its default: `mock.skill("refunds", instructions="…")`; returns its id."""
        return make_resource(self.world, "skill", name, members)

    def toolbox(self, name: str, **members: Any) -> str:
        """Give the project a version of a toolbox, its default: `mock.toolbox("box", tools=[…])`; returns its id."""
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

        `scenario` is a function, async or not, of a fresh mock to which every client of the test leads meanwhile: it
        scripts that, runs the code under test and returns what came of it. `cases` chooses kinds of variations
        (`streams/*,errors/*`), `combined` is how many combinations of several are tried, too; a `seed` tries the same each
        time. With `generate`, a strategy of hypothesis such as `scripts(tools=[…])`, the scenario scripts nothing: its
        mock has one of so many generated scripts (`examples`), and it raises when what came of that is wrong.
        """
        if self.world.explorer is None:
            raise ConfigError("explore: only the fixture `mock` of pytest can explore.")
        if generate is not None:
            if cases != "*" or combined:
                raise ConfigError("explore: a generated script has no variations; leave out `cases` and `combined`.")
            return self.world.explorer.generated(scenario, generate, seed, examples)
        return self.world.explorer(scenario, cases, seed, combined)

    @property
    def automatic(self) -> bool:
        """Whether each retrieve of a background response or a run moves it on by one step; else only `advance` does."""
        return self.world.automatic

    @automatic.setter
    def automatic(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise ConfigError(f"automatic = {value!r}: give True or False.")
        self.world.automatic = value

    @property
    def citations(self) -> CitationPlacement:
        """Where the stream of a run carries annotations: in deltas, in the completed message, or in both."""
        return self.world.citations

    @citations.setter
    def citations(self, value: CitationPlacement) -> None:
        known = get_args(CitationPlacement)
        if value not in known:
            raise ConfigError(f"citations = {value!r}: give one of {', '.join(map(repr, known))}.")
        self.world.citations = value

    def advance(self, id: str | None = None) -> list[Json]:
        """Move a background response or a run on by one step, without `id` all of them: queued, in progress, completed.

        Returns each as it is now; a ConfigError when `id` names none that is under way.
        """
        moved = self.world.advance(id)
        self._deliver()
        return moved

    def skip(self, seconds: int) -> int:
        """Let time pass, say until a connection is too old; returns the World's time, in unix seconds."""
        now = self.world.skip(seconds)
        self._deliver()
        return now
