"""Run the samples of the suite `azure_samples` and write how they ended: `expected.toml`, and a table in the manual."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.clients.cells import HERE, Environment, Suite, found
from tests.clients.environments import ROOT, prepared, python_of
from tests.clients.matrix import surroundings

SUITE = "azure_samples"
EXPECTED = HERE / SUITE / "expected.toml"
PAGE = ROOT / "docs" / "foundry.md"
BEGIN, END = "<!-- samples: begin -->", "<!-- samples: end -->"
WORKS, NOT_MOCKED, FAILS = "works", "not mocked", "fails"
VERDICTS = (WORKS, NOT_MOCKED, FAILS)
HEAD = "# How each sample is to end; `python -m tests.clients azure_samples --publish` writes it.\n"

GROUPS = (
    (
        "agents with their tools and telemetry, responses, files",
        "azure-ai-projects",
        ("agents", "agents/telemetry", "agents/tools", "responses", "files"),
    ),
    (
        "hosted agents, connections, deployments, indexes, memories, skills, toolboxes, datasets, telemetry",
        "azure-ai-projects",
        (
            *("hosted_agents", "connections", "deployments", "indexes", "memories"),
            *("skills", "toolboxes", "datasets", "telemetry"),
        ),
    ),
    (
        "evaluations, fine-tuning, red team, insights, logs, voice, optimization, models, chat completions, tools over MCP",
        "azure-ai-projects",
        (),
    ),
    ("classic agents (azure-ai-agents)", "azure-ai-agents", ()),
)
"""The rows of the table: what it shows, of which package, in which folders; without any all that are left."""
_CLOSED = "it uses its client after it has closed it"
_OUTSIDE = "it asks {} first, which is no part of a project"
WHY: Mapping[str, str] = {
    "agents/tools/sample_agent_memory_search.py": _CLOSED,
    "agents/tools/sample_agent_memory_search_async.py": _CLOSED,
    "agent_insights/sample_agent_insights_on_demand.py": _OUTSIDE.format("Azure Monitor"),
    "agent_insights/sample_agent_insights_scheduled.py": _OUTSIDE.format("Azure Monitor"),
    "evaluations/sample_endpoint_evaluator_with_api_key.py": _OUTSIDE.format("Azure Resource Manager"),
    "evaluations/sample_endpoint_evaluator_with_entra_id.py": _OUTSIDE.format("Azure Resource Manager"),
    "evaluations/sample_evaluations_builtin_with_traces.py": _OUTSIDE.format("Azure Monitor"),
    "models/sample_models_basic.py": "it needs the program `azcopy`",
    "agents_tools/sample_agents_logic_apps.py": "it imports a module that is not where it looks, for Azure Logic Apps",
}
"""In words why a sample does not work; of any other what it ended with."""

Ends = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By package and folder, by file of a sample, how it ends."""


def publish_samples() -> None:
    """Run all samples, write how they ended; a reason that still holds stays as it was worded."""
    (suite,) = found([SUITE])
    before = tomllib.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    ends = {
        _package(environment): _ends(suite, environment, before.get(_package(environment), {}))
        for environment in suite.environments
    }
    EXPECTED.write_text(HEAD + "\n".join(_tables(ends)), encoding="utf-8")
    PAGE.write_text(render_samples(PAGE.read_text(encoding="utf-8"), ends), encoding="utf-8")


def read_ends() -> Ends:
    """How the samples are to end."""
    return tomllib.loads(EXPECTED.read_text(encoding="utf-8"))


def render_samples(page: str, ends: Ends) -> str:
    """Return the page, with the tables of these samples between its two marks."""
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    return "\n".join([f"{before}{BEGIN}", "", *_counts(ends), "", *_misses(ends), f"{END}{after}"])


def _package(environment: Environment) -> str:
    return environment.sources[0].partition("==")[0]


def _ends(suite: Suite, environment: Environment, before: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """By folder and file how the samples of an environment end."""
    folder = prepared(environment)
    (samples,) = (folder / "sources").glob("*/samples")
    ends: dict[str, dict[str, str]] = {}
    with TemporaryDirectory(prefix="responses-harness-") as home:
        told = Path(home, "ended.jsonl")
        command = [python_of(environment, folder), suite.folder / "running.py", samples, "--json", told]
        subprocess.run([*map(str, command)], check=True, cwd=home, env=surroundings(Path(home)))
        for line in told.read_text(encoding="utf-8").splitlines():
            ended = json.loads(line)
            path = Path(ended["sample"])
            known = before.get(str(path.parent), {}).get(path.name, "")
            ends.setdefault(str(path.parent), {})[path.name] = _worded(ended, known)
    return ends


def _worded(ended: Mapping[str, str], known: str) -> str:
    if ended["verdict"] == WORKS or not (known and ended["told"].startswith(known)):
        return ended["told"]
    return known


def _tables(ends: Ends) -> Iterator[str]:
    for package, folders in ends.items():
        for folder, samples in sorted(folders.items()):
            yield f'\n["{package}"."{folder}"]'
            yield from (
                f"{json.dumps(name)} = {json.dumps(told, ensure_ascii=False)}" for name, told in samples.items()
            )
    yield ""


def _counts(ends: Ends) -> Iterator[str]:
    yield "| samples | | works | not mocked | fails |\n|---|---|---|---|---|"
    left = {(package, folder): samples for package, folders in ends.items() for folder, samples in folders.items()}
    for name, package, wanted in GROUPS:
        own = [place for place in left if place[0] == package and (not wanted or place[1] in wanted)]
        verdicts = Counter(_verdict(told) for place in own for told in left.pop(place).values())
        counts = [str(verdicts[verdict] or "–") for verdict in VERDICTS]
        yield f"| {name} | {verdicts.total()} | {' | '.join(counts)} |"


def _misses(ends: Ends) -> Iterator[str]:
    """Yield a line for each sample that fails."""
    folders = [item for end in ends.values() for item in end.items()]
    for name, told in [(f"{folder}/{name}", told) for folder, samples in folders for name, told in samples.items()]:
        if _verdict(told) == FAILS:
            yield f"- `{name}`: {WHY.get(name, told.partition(': ')[2])}"


def _verdict(told: str) -> str:
    return told.partition(":")[0]
