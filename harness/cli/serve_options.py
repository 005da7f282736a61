"""The options of `responses-harness serve`, the checks of their combinations, and the TLS setup that they ask for."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from harness.analysis.judgement import CLIENT_VALUES
from harness.cli.program import Options, argument, option, print_note
from harness.core.cached import cached_property
from harness.core.errors import COMMAND, ConfigError, require_extra
from harness.core.limits import SERVER_LIMITS, STORED_SECONDS, UNLIMITED, Limits
from harness.core.webhooks import DEFAULT_SECRET, SECRET_VARIABLE
from harness.report.formats import FORMATS, check_writable
from harness.server.deployment import DEFAULT_PREFIX, MEMORY, Deployment, find_deployment

if TYPE_CHECKING:
    from harness.core.account import Organization
    from harness.report.judge_world import Permitted
    from harness.server.tls.certificate import ServerCertificate, ServerContext


LOG_FORMATS = ("json", "text")


def check_observers(log: str, *, metrics: bool, otel: bool) -> None:
    """Raise BadParameter for an unknown log format, ConfigError for missing packages."""
    if log and log not in LOG_FORMATS:
        raise typer.BadParameter(f"--log {log}: pass {' or '.join(LOG_FORMATS)}.")
    if metrics:
        require_extra("--metrics", "prometheus-client", "metrics", "prometheus_client")
    if otel:
        from harness.server.observe.spans import check_packages

        check_packages()


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
    return option(
        None, f"The maximum number of {what}.", metavar="N", min=1, show_default=f"{default:,}, with a COMMAND all"
    )


@dataclass(frozen=True, kw_only=True)
class ServeOptions(Options):
    """The options of `responses-harness serve`, which its help shows in `GROUPS`."""

    GROUPS: ClassVar[Mapping[str, str]] = {
        "Address and access": "host port tls certificate key_file control_token allowed_host coding_agent",
        "What the model says": "script scripted replay paced pace webhook webhook_secret",
        "The API and its account": "keys models zdr dialect assistants as_of contract",
        "What is kept": "journal keep worlds store store_prefix store_seconds",
        "What is judged": "unused losses client refusals reports trace",
        "What is shown": "opens log metrics otel",
    }

    command: list[str] | None = argument(
        None, "What to run with the mock; without it, serve until interrupted.", metavar="-- COMMAND..."
    )
    host: str = option("127.0.0.1", "The address to listen on.")
    port: int | None = option(
        None, "The port to listen on; 0 picks a free one.", min=0, max=65535, show_default="8765, with a COMMAND 0"
    )
    script: Path | None = option(None, "The script of the model: a .py or .yaml file.")
    coding_agent: str = option(
        "",
        "Configure the coding agent that COMMAND runs, such as codex or copilot, in a home of its own.",
        "--for",
        metavar="NAME",
    )
    keys: str = option("", "The only valid API keys, comma-separated.")
    models: str = option("", "The only available models, comma-separated.")
    scripted: bool = option(False, "Without a script, refuse every request instead of making up answers.")
    zdr: bool = option(False, "Zero Data Retention: nothing is stored for any key.")
    dialect: str = option("", "openai, azure or foundry (default: all three, by path).")
    assistants: str = option("v2", "v2, or gone: 404, as after the shutdown.")
    as_of: str = option("", "Serve the API as of a day or month: 2026-03-15, 2026-03.", metavar="DATE")
    contract: Path | None = option(None, f"Overrides written by `{COMMAND} learn`.", metavar="FILE")
    webhook: list[str] | None = option(None, "Notify this URL when background responses end.", metavar="URL")
    webhook_secret: str = option(
        DEFAULT_SECRET,
        "The signing secret for --webhook.",
        envvar=SECRET_VARIABLE,
        metavar="whsec_…",
        show_default="printed",
    )
    pace: str = option("", "The speed of answers: ttft=300ms,tokens=80/s,jitter=0.2.", metavar="TEXT")
    journal: int | None = _limit("exchanges kept per World; the oldest go first", SERVER_LIMITS.exchanges)
    keep: int | None = _limit("responses stored per World; the oldest go first", SERVER_LIMITS.responses)
    worlds: int | None = _limit("Worlds kept; the least recently used go first", SERVER_LIMITS.worlds)
    workers: int = option(1, "", min=1, hidden=True)
    store: str = option(
        MEMORY, "Where to keep Worlds: memory, or redis://HOST:PORT/N, shared by servers.", metavar="URL"
    )
    store_prefix: str = option("", "The prefix of keys in a shared store.", metavar="TEXT", show_default=DEFAULT_PREFIX)
    store_seconds: int = option(
        STORED_SECONDS, "Seconds that a shared store keeps an unused World.", metavar="N", min=1
    )
    replay: Path | None = option(None, "Play these recordings; nothing is made up.", metavar="DIR|FILE")
    paced: bool = option(False, "With --replay: keep the pace of the recording.")
    unused: str = option("", "With a COMMAND: permit unused turns.", metavar="allow")
    losses: str = option(
        "",
        "With a COMMAND: how to judge losses: strict, allow, or permitted losses, comma-separated.",
        metavar="NAMES",
    )
    client: str = option(
        "", "How to judge clients: strict, allow, or permitted mistakes, comma-separated.", metavar="NAMES"
    )
    refusals: str = option("", "Permitted refusals: allow, or rules and areas, comma-separated.", metavar="NAMES")
    reports: list[Path] | None = option(
        None, f"With a COMMAND: write a report of its exchanges: {' '.join(FORMATS)}.", "--report", metavar="FILE"
    )
    opens: bool = option(False, "Open the viewer of the server in a browser.", "--open")
    trace: Path | None = option(
        None, f"With a COMMAND: write a trace for each World with a verdict, for {COMMAND} view.", metavar="DIR"
    )
    log: str = option("", "Log every request to stderr, not only refused ones.", metavar="json|text")
    metrics: bool = option(False, "Count requests for Prometheus: GET /_harness/metrics.")
    otel: bool = option(False, "Export an OpenTelemetry span per request, configured by OTEL_… variables.")
    tls: bool = option(False, "Use TLS, with a certificate for this run; the printed variables make clients trust it.")
    certificate: Path | None = option(None, "Use TLS with this certificate (PEM).", metavar="FILE")
    key_file: Path | None = option(
        None, "The private key of --certificate, if not in its file.", "--key", metavar="FILE"
    )
    control_token: str = option(
        "", "The token required in control requests; generated if not on loopback.", envvar=TOKEN_VARIABLE
    )
    allowed_host: str = option(
        "", "Other names of this host for control requests and --tls, comma-separated.", metavar="NAMES"
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

    @cached_property
    def deployment(self) -> Deployment:
        """Where the Worlds are kept; ConfigError if nothing installed keeps them in this --store."""
        make, prefix, seconds = find_deployment(self.store), self.store_prefix, self.store_seconds
        return make(self.store, prefix, seconds, self.decisive, self.limits.worlds)

    @property
    def port_or_default(self) -> int:
        """The port of a server without a COMMAND."""
        return DEFAULT_PORT if self.port is None else self.port

    @property
    def permitted(self) -> Permitted:
        """The findings that do not fail a COMMAND; ConfigError for an invalid value of --losses."""
        from harness.analysis.judgement import FAIL, read_loss_policy
        from harness.report.judge_world import Permitted

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


def check_options(options: ServeOptions) -> None:
    """Raise BadParameter or ConfigError for invalid values, and for options that do not go together."""
    given = options.given
    if options.unused not in ("", ALLOW):
        raise typer.BadParameter(f"--unused {options.unused}: pass {ALLOW}.")
    if options.losses:
        _ = options.permitted
    _check_refusals(options.allowed_refusals)
    _check_client(options.client_judgement)
    check_writable(options.reports or [])
    if options.replay:
        why = "--replay only plays recordings; it can only be combined with --host, --port, --paced and TLS"
        options.refuse_others(REPLAY_OPTIONS, why)
    if options.paced and not options.replay:
        raise typer.BadParameter("--paced keeps the pace of recordings: also pass --replay DIR.")
    if not options.command and given.keys() & COMMAND_OPTIONS:
        raise typer.BadParameter("--unused, --losses, --report and --trace need a COMMAND: pass one after --.")
    if "workers" in given:
        raise typer.BadParameter(
            "--workers is gone: start several servers behind a proxy that hashes the key, such as nginx or HAProxy."
        )
    if options.opens and options.command:
        raise typer.BadParameter("--open shows a server; for a COMMAND, write a page: --report FILE.html.")
    if options.coding_agent:
        from harness.drive.coding_agents import find_coding_agent

        find_coding_agent(options.coding_agent)
    options.deployment.check(options.script)
    if options.command and options.deployment.store != MEMORY:
        raise typer.BadParameter("a COMMAND has its own mock: --store is only for servers without a COMMAND.")
    _check_webhooks(options.webhooks)
    if "store_seconds" in given and options.deployment.store == MEMORY:
        raise typer.BadParameter("--store-seconds applies only to a shared --store, redis://HOST:PORT/NUMBER.")
    check_observers(options.log, metrics=options.metrics, otel=options.otel)
    if options.command and options.metrics:
        raise typer.BadParameter(
            "a COMMAND ends before its metrics can be read: --metrics is only for servers without a COMMAND."
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
            raise typer.BadParameter(f"--client {name}: pass strict, allow, or permitted mistakes. {known}")


def _check_webhooks(webhooks: list[dict[str, str]]) -> None:
    from harness.server.webhook_receivers import check_url
    from harness.world.scripting.document import parse_sent_script

    for webhook in webhooks:
        check_url(webhook["url"])
        parse_sent_script({"webhooks": webhook})


def split_names(listed: str) -> list[str]:
    """Split a comma-separated list of names."""
    return [name for part in listed.split(",") if (name := part.strip())]


EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Wildcard addresses to listen on, which clients cannot always connect to, each with one that they can."""


@dataclass(frozen=True)
class Secured:
    """The TLS setup of a server: the certificate, variables that make clients trust it, removal of the files."""

    certificate: ServerCertificate
    variables: Mapping[str, str]
    remove_files: Callable[[], None] = lambda: None


def secure(options: ServeOptions) -> Secured | None:
    """Load or make the certificate of a server; None for plain HTTP, ConfigError for an invalid file.

    The files that make clients trust it are removed when the command ends.
    """
    file, key, host = options.certificate, options.key_file, options.host
    if not (options.tls or file):
        if key:
            raise ConfigError(
                f"--key {key}: this option is for the key of a --certificate FILE; pass API keys with --keys."
            )
        return None
    from harness.server.tls.certificate import load_certificate, make_certificate, require_cryptography, write_trust

    require_cryptography("--certificate" if file else "--tls")
    hosts = [
        host,
        EVERY_ADDRESS.get(host, host),
        *([platform.node()] if host in EVERY_ADDRESS else []),
        *options.host_names,
    ]
    made = load_certificate(file, key) if file else make_certificate(hosts)
    made.context.report = lambda text: print_note(f"{text}.")
    if not made.anchors:
        return Secured(made, {})
    folder = TemporaryDirectory(prefix="harness-tls-")
    assert options.context, "a command has one"
    options.context.call_on_close(folder.cleanup)
    return Secured(made, write_trust(made.anchors, Path(folder.name), os.environ), folder.cleanup)


def origin_for_clients(secured: Secured | None, host: str, port: int) -> str:
    """Return the origin of a server's URLs, with a host name that is in its certificate."""
    from harness.server.http_server import origin_of

    if secured is None:
        return origin_of("http", host, port)
    return origin_of("https", secured.certificate.host_for(host), port)


def context_of(secured: Secured | None) -> ServerContext | None:
    """Return the TLS context of a server, or None."""
    return secured.certificate.context if secured else None
