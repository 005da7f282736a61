"""`responses-harness learn`: makes a user's recordings overrule the mock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cli.program import Options, argument, option, print_text
from harness.contract.overrides import Overrides
from harness.core.errors import ConfigError
from harness.core.text import pluralize, shorten
from harness.overrides.derive import Derived, derive_overrides, explain_foreign, relative_evidence, render_bundle
from harness.overrides.project_file import (
    DEFAULT_NAME,
    describe_entry,
    find_project_file,
    merge_overrides,
    read_overrides,
    scrub_overrides,
    write_overrides,
)
from harness.report.replace_file import explain_write_errors
from harness.verify.judging.circumstances import parse_host
from harness.verify.report_cases import path_from_root


@dataclass(frozen=True, kw_only=True)
class LearnOptions(Options):
    """The options of `responses-harness learn`."""

    paths: list[Path] = argument(..., "Recordings, or folders of them.", metavar="PATH")
    contract: Path | None = option(
        None,
        "The file to write.",
        metavar="FILE",
        show_default="that of [tool.harness], else contract.yaml next to the recordings",
    )
    host: list[str] | None = option(None, "The host of a gateway to the API; repeatable.", metavar="HOST")
    share: Path | None = option(
        None, "Instead, write the disagreements for the maintainers, with secrets masked.", metavar="FILE"
    )


def learn(options: LearnOptions) -> None:
    """Learn from recordings: where the API behaved differently, make the mock follow.

    Writes one readable file, which serve, verify and pytest load.
    """
    paths, share = options.paths, options.share
    beside = paths[0] if paths[0].is_dir() else paths[0].parent
    file = options.contract or find_project_file(Path()) or beside / DEFAULT_NAME
    old = read_overrides(file) if file.exists() and not share else None
    derived = derive_overrides(paths, hosts=[parse_host(text) for text in options.host or ()])
    if share:
        _write_bundle(derived, share)
        return
    learned = relative_evidence(derived.overrides, lambda name: path_from_root(Path(name)))
    learned, left_out = scrub_overrides(learned)
    gone: list[str] = []
    if old:
        judged = {path_from_root(Path(name)) for name in derived.judged_files}
        learned, gone = merge_overrides(old, learned, judged)
    _print_learned(derived, learned)
    for line in left_out:
        print_text(f"not learned: {line}")
    for line in gone:
        print_text(f"no longer needed: {line}")
    if learned.entries or old:
        write_overrides(learned, file)
        print_text(f"written: {file.as_posix()}")


def _print_learned(derived: Derived, learned: Overrides) -> None:
    before, after = len(derived.before), len(derived.after)
    print_text(
        f"{pluralize(derived.exchanges, 'exchange')}: {before} disagree with the mock, {after} with what was learned"
    )
    for name, entries in (("accepted", learned.exemptions), ("refused", learned.refusals), ("known", learned.members)):
        for entry in entries:
            about = describe_entry(entry)
            print_text(f"{name}: {shorten(about, 200)}" if name == "accepted" else shorten(about, 200))
    for key, why in derived.dropped.items():
        print_text(f"not learned: {key}: {why}, and nothing distinguishes the two")
    for place, model in derived.foreign.items():
        print_text(f"not judged: {explain_foreign(place, model)}")
    for name, why in derived.unreadable.items():
        print_text(f"unreadable: {why if name in why else f'{name}: {why}'}", err=True)


def _write_bundle(derived: Derived, file: Path) -> None:
    text = render_bundle(derived.before)
    if not text:
        print_text("nothing to share: recordings and mock agree.")
        return
    if leaks := [place for place in secrets_in(text) if "form of a key" in place]:
        raise ConfigError(f"{file}: not written: {leaks[0]}.")
    with explain_write_errors(str(file), "Pass another file"):
        file.write_text(text, encoding="utf-8", newline="\n")
    print_text(f"{text.count(chr(10))} exchanges written: {file.as_posix()}. Read it before you send it.")
