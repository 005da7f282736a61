"""The options of `harness serve`, and the checks of their combinations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from harness.cli.support.observers import check_observers
from harness.cli.support.options import argument, given_options, option, refuse_others
from harness.cluster.cluster import DEFAULT_PREFIX, MEMORY, Cluster
from harness.core.client_judgement import CLIENT_VALUES
from harness.core.limits import SERVER_LIMITS, STORED_SECONDS, UNLIMITED, Limits
from harness.core.webhooks import DEFAULT_SECRET, SECRET_VARIABLE
from harness.report.formats import FORMATS, check_writable

if TYPE_CHECKING:
    from harness.core.account import Organization
    from harness.server.judgement import Permitted

DEFAULT_PORT = 8765
ANY_KEY = "sk-anything"
TOKEN_VARIABLE = "HARNESS_CONTROL_TOKEN"
"""The variable with the token of the control plane, if it needs one; read by the server and by its clients."""
ALLOW = "allow"
REPLAY_OPTIONS = frozenset({"replay", "paced", "host", "port", "tls", "certificate", "key_file"})
"""The options that can be combined with a replay."""
COMMAND_OPTIONS = frozenset({"unused", "losses", "reports", "trace"})
"""The options that concern what a COMMAND did."""


def _limit(what: str, default: int | None) -> Any:
    """Declare an option that limits how much is kept."""
    return option(None, f"How many {what}.", metavar="N", min=1, show_default=f"{default:,}, with a COMMAND all")


@dataclass(frozen=True)
class ServeOptions:
    """The options of `harness serve`."""

    command: list[str] | None = argument(
        None, "What to run with the mock; without it, serve until interrupted.", metavar="-- COMMAND..."
    )
    host: str = option("127.0.0.1", "The address to listen on.")
    port: int | None = option(
        None, "The port to listen on; 0 takes a free one.", min=0, max=65535, show_default="8765, with a COMMAND 0"
    )
    script: Path | None = option(None, "What the model says: a .py or .yaml file.")
    keys: str = option("", "The only API keys that are known, by commas.")
    models: str = option("", "The only models that are known, by commas.")
    scripted: bool = option(False, "Without a script refuse every request instead of making an answer up.")
    zdr: bool = option(False, "Zero Data Retention: nothing is stored for any key.")
    dialect: str = option("", "openai, azure or foundry; without it all three, by the path.")
    assistants: str = option("v2", "v2, or gone as since the sunset: 404.")
    as_of: str = option("", "The day, or the month, whose API is served: 2026-03-15, 2026-03.", metavar="DATE")
    contract: Path | None = option(None, "What `harness learn` wrote, which overrules.", metavar="FILE")
    webhook: list[str] | None = option(
        None, "Tell this address of background responses that have ended.", metavar="URL"
    )
    webhook_secret: str = option(
        DEFAULT_SECRET, "What signs for --webhook.", envvar=SECRET_VARIABLE, metavar="whsec_…", show_default="printed"
    )
    pace: str = option("", "How fast answers come: ttft=300ms,tokens=80/s,jitter=0.2.", metavar="TEXT")
    journal: int | None = _limit("exchanges of a World that are kept, the newest", SERVER_LIMITS.exchanges)
    keep: int | None = _limit("responses of a World that are stored, the newest", SERVER_LIMITS.responses)
    worlds: int | None = _limit("Worlds that are kept, the last used", SERVER_LIMITS.worlds)
    workers: int = option(1, "Processes that answer; a key belongs to one.", metavar="N", min=1)
    store: str = option(MEMORY, "Where Worlds are: memory, or redis://HOST:PORT/N, which servers share.", metavar="URL")
    store_prefix: str = option("", "How the keys in a shared store begin.", metavar="TEXT", show_default=DEFAULT_PREFIX)
    store_seconds: int = option(
        STORED_SECONDS, "How long a shared store keeps a World that nobody uses.", metavar="N", min=1
    )
    replay: Path | None = option(None, "Play these recordings; nothing is made up.", metavar="DIR|FILE")
    paced: bool = option(False, "--replay at the pace of the recording.")
    unused: str = option("", "With a COMMAND: turns that no request took are no failure.", metavar="allow")
    losses: str = option(
        "",
        "With a COMMAND: how losses are judged: strict, allow, or what clients may lose, by commas.",
        metavar="NAMES",
    )
    client: str = option("", "How clients are judged: strict, allow, or what they may do, by commas.", metavar="NAMES")
    refusals: str = option("", "Refusals that are no failure: allow, or rules and areas, by commas.", metavar="NAMES")
    reports: list[Path] | None = option(
        None, f"With a COMMAND: write what it exchanged: {' '.join(FORMATS)}.", "--report", metavar="FILE"
    )
    opens: bool = option(False, "Open the viewer of the server in a browser.", "--open")
    trace: Path | None = option(
        None, "With a COMMAND: write a file for each World with a verdict, for harness view.", metavar="DIR"
    )
    log: str = option("", "Write each request to stderr, not only refused ones.", metavar="json|text")
    metrics: bool = option(False, "Count requests for Prometheus: GET /_harness/metrics.")
    otel: bool = option(False, "Export a span of OpenTelemetry for each request, as OTEL_… variables say.")
    tls: bool = option(False, "Speak TLS, with a certificate made for this run that printed variables trust.")
    certificate: Path | None = option(None, "Speak TLS with this certificate (PEM).", metavar="FILE")
    key_file: Path | None = option(
        None, "The private key of --certificate, if not in its file.", "--key", metavar="FILE"
    )
    control_token: str = option(
        "", "What control requests have to carry; off loopback one is made.", envvar=TOKEN_VARIABLE
    )
    allowed_host: str = option(
        "", "Other names of this host for control requests and --tls, by commas.", metavar="NAMES"
    )

    @property
    def key_names(self) -> list[str]:
        """The only known API keys; empty if all are."""
        return split_names(self.keys)

    @property
    def key(self) -> str:
        """The key that clients are told to use."""
        return next(iter(self.key_names), ANY_KEY)

    @property
    def host_names(self) -> list[str]:
        """Other names of this host."""
        return split_names(self.allowed_host)

    @property
    def cluster(self) -> Cluster:
        """The number of processes, and the place of their Worlds."""
        prefix, seconds = self.store_prefix, self.store_seconds
        return Cluster(self.workers, self.store, prefix, seconds, self.decisive, self.limits.worlds)

    @property
    def port_or_default(self) -> int:
        """The port of a server without a COMMAND."""
        return DEFAULT_PORT if self.port is None else self.port

    @property
    def permitted(self) -> Permitted:
        """The findings that do not fail a COMMAND; ConfigError for an invalid value of --losses."""
        from harness.analysis.loss_policy import FAIL, read_loss_policy
        from harness.server.judgement import Permitted

        return Permitted(bool(self.unused), read_loss_policy(self.losses or FAIL))

    @property
    def limits(self) -> Limits:
        """How much is kept: a limited number of each object for a server, everything for a COMMAND."""
        default = UNLIMITED if self.command else SERVER_LIMITS
        return Limits(self.journal or default.exchanges, self.keep or default.responses, self.worlds or default.worlds)

    @property
    def account(self) -> Organization:
        """The account of every key."""
        from harness.core.account import DEFAULT_ORGANIZATION, Organization

        models = frozenset(split_names(self.models)) or None
        account = Organization(models=models, zdr=self.zdr, assistants=self.assistants)
        return (
            DEFAULT_ORGANIZATION if account == DEFAULT_ORGANIZATION else account
        )  # the default account is recognized by identity

    @property
    def allowed_refusals(self) -> str | list[str]:
        """The refusals that every World expects, in the form of a script document."""
        return ALLOW if self.refusals == ALLOW else split_names(self.refusals)

    @property
    def client_judgement(self) -> str | list[str]:
        """How the client of every World is judged, in the form of a script document."""
        return self.client if self.client in CLIENT_VALUES else split_names(self.client)

    @property
    def webhook_variables(self) -> dict[str, str]:
        """The variable with the secret that verifies deliveries, for receivers; empty without a webhook."""
        return {SECRET_VARIABLE: self.webhook_secret or DEFAULT_SECRET} if self.webhook else {}

    @property
    def webhooks(self) -> list[dict[str, str]]:
        """The webhooks of every World, in the form of a script document."""
        return [{"url": url, "secret": self.webhook_secret or DEFAULT_SECRET} for url in self.webhook or ()]

    @property
    def decisive(self) -> dict[str, object]:
        """The options that affect answers, on which servers that share a store must agree."""
        names = ("script", "keys", "models", "scripted", "zdr", "pace", "dialect", "assistants")
        given = {name: getattr(self, name) for name in names}
        given |= {"as-of": self.as_of, "contract": self.contract}
        given |= {"refusals": self.refusals} if self.refusals else {}
        given |= {"client": self.client} if self.client else {}
        return given | {"journal": self.journal, "keep": self.keep}


def check_options(options: ServeOptions, context: typer.Context) -> None:
    """Raise BadParameter or ConfigError for invalid values, and for options that do not go together."""
    given = given_options(context)
    if options.unused not in ("", ALLOW):
        raise typer.BadParameter(f"--unused {options.unused}: it is {ALLOW}.")
    if options.losses:
        _ = options.permitted
    _check_refusals(options.allowed_refusals)
    _check_client(options.client_judgement)
    check_writable(options.reports or [])
    if options.replay:
        why = "--replay plays what was recorded; give it with --host, --port, --paced and TLS alone"
        refuse_others(context, REPLAY_OPTIONS, why)
    if options.paced and not options.replay:
        raise typer.BadParameter("--paced is the pace of recordings: give --replay DIR, too.")
    if not options.command and given.keys() & COMMAND_OPTIONS:
        raise typer.BadParameter(
            "--unused, --losses, --report and --trace are about what a COMMAND did: give one after --."
        )
    if options.command and options.workers > 1:
        raise typer.BadParameter("a COMMAND has a mock of its own: --workers is for servers without one.")
    if options.opens and (options.command or options.workers > 1):
        raise typer.BadParameter("--open shows a server of one process; of a COMMAND write a page: --report FILE.html.")
    options.cluster.check(options.script)
    if options.command and options.cluster.is_shared:
        raise typer.BadParameter("a COMMAND has a mock of its own: --store is for servers without one.")
    _check_webhooks(options.webhooks)
    if "store_seconds" in given and not options.cluster.is_shared:
        raise typer.BadParameter("--store-seconds: it is for a shared --store, redis://HOST:PORT/NUMBER.")
    check_observers(options.log, metrics=options.metrics, otel=options.otel)
    if options.command and options.metrics:
        raise typer.BadParameter(
            "a COMMAND ends before its metrics could be read: --metrics is for a server without one."
        )


def _check_refusals(names: str | list[str]) -> None:
    from harness.world.refusals import describe_unknown_rule

    if isinstance(names, list) and (problem := describe_unknown_rule(names)):
        raise typer.BadParameter(f"--refusals {','.join(names)}: {problem}")


def _check_client(judgement: str | list[str]) -> None:
    import harness.analysis.client_mistakes  # noqa: F401  (registers every mistake)
    from harness.analysis.client_mistake import CLIENT_MISTAKES
    from harness.core.registry import suggest_name

    for name in judgement if isinstance(judgement, list) else ():
        if name not in CLIENT_MISTAKES:
            known = suggest_name(name, CLIENT_MISTAKES)
            raise typer.BadParameter(f"--client {name}: give strict, allow, or what clients may do. {known}")


def _check_webhooks(webhooks: list[dict[str, str]]) -> None:
    from harness.server.webhooks.receivers import check_url
    from harness.world.scripting.document import parse_sent_script

    for webhook in webhooks:
        check_url(webhook["url"])
        parse_sent_script({"webhooks": webhook})


def split_names(listed: str) -> list[str]:
    """Split a comma-separated list of names."""
    return [name for part in listed.split(",") if (name := part.strip())]
