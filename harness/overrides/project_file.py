"""Finds, reads, scrubs, merges and writes the file with a project's overrides, `contract.yaml`."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.contract.overrides import AREA, AddedMember, AddedRefusal, Entry, Exemption, Overrides
from harness.core.bounded_input import read_bounded
from harness.core.errors import COMMAND, ConfigError
from harness.core.json_values import as_object
from harness.core.registry import suggest_name
from harness.core.secret_prefixes import redact
from harness.core.text import show
from harness.overrides.contract_file import identify_entry, parse_overrides, render_overrides, with_entries
from harness.report.replace_file import explain_write_errors

DEFAULT_NAME = "contract.yaml"
MAX_BYTES = 10_000_000
PROJECT_SETTINGS = ("contract",)
"""The settings allowed in `[tool.harness]` of pyproject.toml."""


def read_overrides(file: Path) -> Overrides:
    """Read the overrides in a file. ConfigError, with the line, if it cannot be read or has a mistake."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{file}: it has more than {MAX_BYTES:,} bytes, and is not a contract.")
        text = read_bounded(file).decode()
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: not UTF-8, so not a contract.") from None
    except (OSError, ValueError) as problem:  # a name may contain a null character
        why = getattr(problem, "strerror", None) or problem
        raise ConfigError(f"{file}: cannot be read: {why}. `{COMMAND} learn PATH` writes one.") from None
    # The day in the easternmost time zone, so that recordings of a machine ahead of this one are not in the future.
    today = (datetime.now(UTC) + timedelta(hours=14)).date().isoformat()
    return parse_overrides(text, file.as_posix(), today)


def find_project_file(root: Path, ini: str = "") -> Path | None:
    """Find the file named in `[tool.harness] contract` of pyproject.toml or in `ini`. ConfigError for two files."""
    settings = root / "pyproject.toml"
    named = ""
    if settings.is_file():
        try:
            own = as_object(tomllib.loads(settings.read_text(encoding="utf-8")).get("tool")).get("harness", {})
        except (ValueError, RecursionError) as problem:  # an integer may be too long, a list too deep
            raise ConfigError(f"{settings}: not readable: {problem}") from None
        if not isinstance(own, dict):
            raise ConfigError(f"{settings}: [tool.harness] is a table, got {show(own)}.")
        # A misspelt setting would silently disable what the project relies on.
        for name in own:
            if name not in PROJECT_SETTINGS:
                raise ConfigError(f"{settings}: [tool.harness] has no {name!r}. {suggest_name(name, PROJECT_SETTINGS)}")
        named = own.get("contract", "")
        if not isinstance(named, str):
            raise ConfigError(f"{settings}: [tool.harness] contract is the name of a file, got {show(named)}.")
    if named and ini and (root / named).resolve() != (root / ini).resolve():
        raise ConfigError(
            f"two contracts: [tool.harness] in {settings} names {named!r}, harness_contract of pytest names {ini!r}. "
            "Delete one of them."
        )
    return root / (named or ini) if named or ini else None


def load_overrides(option: Path | None, root: Path) -> Overrides | None:
    """Load the overrides from the file that an option names, else from the project at `root`; None without either."""
    file = option or find_project_file(root)
    return read_overrides(file) if file else None


def scrub_overrides(overrides: Overrides) -> tuple[Overrides, list[str]]:
    """Mask the secrets in overrides; also return a line for each entry left out because masking would change it."""
    from harness.cassettes.scrubbing.mask_text import Masker  # late: most processes read a contract but write none

    masker = Masker()
    kept, left_out = list[Entry](), list[str]()
    for entry in overrides.entries:
        if isinstance(entry, AddedRefusal):
            message = masker.mask_text(str(redact(entry.error.message)))
            entry = replace(entry, error=replace(entry.error, message=message))
        if any(masker.mask_text(text) != text or redact(text) != text for text in _texts_of(entry)):
            seen = entry.seen[0] if entry.seen else None
            left_out.append(f"{seen.file}#{seen.exchange}: a value of it seems to be a secret" if seen else "a secret")
        else:
            kept.append(entry)
    return with_entries(overrides, kept), left_out


def _texts_of(entry: Entry) -> Iterator[str]:
    """Yield the strings in an entry that come from a recording, except the error message, which may be masked."""
    if isinstance(entry, AddedMember):
        yield entry.at
        return
    if isinstance(entry, Exemption):
        yield from (entry.at, *entry.words.values())
    else:
        yield from filter(None, (entry.error.param, entry.error.code))
    yield from entry.condition.models
    for member in entry.condition.members:
        yield member.at
        yield from (value for value in member.values if isinstance(value, str))


def write_overrides(overrides: Overrides, file: Path) -> None:
    """Write overrides to a file. ConfigError if it would contain a secret or cannot be written."""
    from harness.cassettes.scrubbing.leak_check import secrets_in

    text = render_overrides(overrides)
    if leaks := [place for place in secrets_in(text) if "form of a key" in place]:
        raise ConfigError(f"{file}: not written: {leaks[0]}.")
    with explain_write_errors(str(file), "Pass another file"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")


def merge_overrides(old: Overrides, new: Overrides, judged: Iterable[str]) -> tuple[Overrides, list[str]]:
    """Add to the new overrides the old entries that are based on other recordings, or on none.

    Also return the old entries that these recordings no longer justify or even contradict, one line each.
    """
    files = set(judged)
    fresh = {identify_entry(entry) for entry in new.entries}
    old_entries = [entry for entry in old.entries if identify_entry(entry) not in fresh]
    gone = [entry for entry in old_entries if entry.seen and all(seen.file in files for seen in entry.seen)]
    gone += [entry for entry in old_entries if entry not in gone and _is_overruled(entry, new)]
    kept = [entry for entry in old_entries if entry not in gone]
    merged = with_entries(new, (*new.entries, *kept))
    return merged, [f"{old.file}:{entry.line}: {describe_entry(entry)}" for entry in gone]


def _is_overruled(old: Entry, new: Overrides) -> bool:
    """Return whether new entries contradict an old entry, or repeat it for all requests it covers."""
    if isinstance(old, Exemption):
        return any(refusal.is_contradicted_by(old) for refusal in new.refusals)
    if isinstance(old, AddedMember):
        return False
    again = any(refusal.instead == old.instead and refusal.condition.covers(old.condition) for refusal in new.refusals)
    return again or any(old.is_contradicted_by(exemption) for exemption in new.exemptions)


def describe_entry(entry: Entry) -> str:
    """Describe an entry in one line."""
    if isinstance(entry, Exemption):
        about = f"{entry.rule} does not apply{f' at {entry.at}' if entry.at else ''}"
    elif isinstance(entry, AddedRefusal):
        about = f"refused: {entry.error.status} {entry.error.message}"
    else:
        return f"known in {entry.root}: {entry.at}"
    condition = entry.condition
    parts = [f"{name}: {word}" for name, word in entry.words.items()] if isinstance(entry, Exemption) else []
    parts += ["models " + ", ".join(condition.models)] if condition.models else []
    for member in condition.members:
        values = ["null" if value is None else str(value) for value in member.values]
        held = f" of {member.of}" if member.of else ""
        parts.append(f"{member.at}{held}: {' or '.join([*values, *member.kinds]) or 'any'}")
    return f"{about} ({'; '.join(parts)})" if parts else about


def exemption_rows(overrides: Overrides) -> list[dict[str, str]]:
    """List the exemptions as rows for `responses-harness rules`: which part of which rule does not apply."""
    return [
        {"id": exemption.rule, "area": AREA, "level": "recorded", "summary": describe_entry(exemption)}
        for exemption in overrides.exemptions
    ]


def find_unused(overrides: Overrides, applied: Iterable[int], judged: Iterable[str]) -> list[str]:
    """List the entries that changed nothing although their recordings were judged, each with its line in the file."""
    used, files = set(applied), [Path(name).resolve() for name in judged]
    return [
        f"{overrides.file}:{entry.line}: changes nothing any more: {describe_entry(entry)}"
        for entry in overrides.entries
        if entry.line not in used and entry.seen and any(Path(seen.file).resolve() in files for seen in entry.seen)
    ]
