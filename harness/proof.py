"""The evidence that a recording of the rules leaves behind: `<dialect>/rules/<rule>.yaml`, as `evidence` reads it.

A request that the API has taken stands in `<dialect>/accepts/<rule>.yaml`. What people have transcribed into a file stays
as they wrote it; what was recorded there before makes room for what is recorded now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson
import yaml

from harness.evidence import Interaction, interactions
from harness.probes import Probe
from harness.proven import runs, take_of
from harness.recorder import SecretFound, locked, replaced
from harness.scrubbing import scrubbed, secrets_in

REFUSED, TAKEN = "rules", "accepts"
HOSTS: Mapping[str, str] = {
    "openai": "https://api.openai.com",
    "azure": "https://xxxxxxx.openai.azure.com",
    "foundry": "https://xxxxxxx.services.ai.azure.com",
}
"""Where a request is said to have gone; the name of a resource in Azure would tell the account."""
_ENTRY = re.compile(r"(?m)^(?=  - )")
WIDTH = 120
HEAD = "version: 1\ninteractions:\n"
Run = Sequence[Interaction]


def asked(place: Path, dialect: str, probe: Probe, where: str, since: str) -> Run | None:
    """The newest recording of this probe by the API at `where`, of the day `since` or later; None when there is none."""
    held = [_held(_file(place, dialect, kind, probe.rule.id)) for kind in (REFUSED, TAKEN)]
    found = [each[start : start + len(probe.steps)] for each in held for start in runs(probe, each)]
    fresh = [run for run in found if run[-1].origin.where == where and run[-1].origin.date >= since]
    return max(fresh, key=lambda run: run[-1].origin.date, default=None)


def _file(place: Path, dialect: str, kind: str, rule: str) -> Path:
    return place / dialect / kind / f"{rule}.yaml"


def _held(file: Path) -> Run:
    return interactions(file) if file.is_file() else ()


def is_kept(run: Run) -> bool:
    """Whether a run can stand in a cassette: a whole answer, an error as an object, and a request that is text."""
    last = run[-1]
    error = last.answer.get("error") if isinstance(last.answer, dict) else None
    texts = all(_is_text(one.body) for one in run)
    return bool(texts and 0 < last.status < 500 and (last.status < 400 or (isinstance(error, dict) and error)))


def _is_text(body: Any) -> bool:
    try:
        return not isinstance(body, str) or bool(body.encode())
    except UnicodeEncodeError:
        return False


def keep(place: Path, dialect: str, asked_now: Mapping[Probe, Run], secrets: Sequence[str] = ()) -> None:
    """Write down what was asked about one rule; `secrets` are values that must not be written, say the key."""
    probes = [probe for probe, run in asked_now.items() if is_kept(run)]
    for kind in (REFUSED, TAKEN):
        fitting = [asked_now[probe] for probe in probes if (asked_now[probe][-1].status >= 400) is (kind == REFUSED)]
        if probes:
            _rewrite(_file(place, dialect, kind, probes[0].rule.id), dialect, probes, fitting, secrets)


def _rewrite(file: Path, dialect: str, probes: Sequence[Probe], fresh: Sequence[Run], secrets: Sequence[str]) -> None:
    """A file without what was recorded of these probes before, and with what is recorded now."""
    if not (file.is_file() or fresh):
        return
    new = [_entry(one, dialect) for run in fresh for one in _scrubbed(run, dialect, secrets)]
    if places := secrets_in("".join([HEAD, *new]), secrets):
        listed = "\n  ".join(places[:5])
        raise SecretFound(f"{file}: not written, because an answer still holds what looks secret:\n  {listed}")
    with locked(file):
        head, entries = _entries(file)
        held = _held(file)
        old = {start + step for probe in probes for start in runs(probe, held) for step in range(len(probe.steps))}
        left = [text for place, text in enumerate(entries) if place not in old] + new
        if left:
            replaced(file, "".join([head, *left]))
        else:
            file.unlink()


def _entries(file: Path) -> tuple[str, list[str]]:
    """What stands before the exchanges of a file, and each of them as it is written there."""
    if not file.is_file():
        return HEAD, []
    text = file.read_text(encoding="utf-8")
    head, *entries = _ENTRY.split(text if text.endswith("\n") else f"{text}\n")
    if len(entries) == len(_held(file)):
        return head, entries
    tape = yaml.safe_load(text)
    told = {name: value for name, value in tape.items() if name != "interactions"}
    return f"{_dumped(told) if told else ''}interactions:\n", [_indented(one) for one in tape["interactions"]]


def _entry(one: Interaction, dialect: str) -> str:
    origin = {"level": one.origin.level, "where": one.origin.where, "date": one.origin.date}
    key = {} if one.origin.key is None else {"key": one.origin.key}
    query = f"?{urlencode(one.query)}" if one.query else ""
    return _indented(
        {
            "origin": {**origin, **key},
            "request": {
                "method": one.method,
                "uri": f"{HOSTS[dialect]}{one.path}{query}",
                "headers": {name: [value] for name, value in one.headers.items()},
                "body": one.body,
            },
            "response": {
                "status": {"code": one.status, "message": HTTPStatus(one.status).phrase},
                "headers": {
                    "content-type": ["text/event-stream" if isinstance(one.answer, list) else "application/json"]
                },
                "body": one.answer,
            },
        }
    )


class _Dumper(yaml.SafeDumper):
    """Lists stand below their name, texts of several lines as they are."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        """Indent a list below the name it has."""
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Write a value again where it stands again."""
        return True


def _dumped(value: Any) -> str:
    return str(yaml.dump(value, Dumper=_Dumper, width=WIDTH, sort_keys=False, allow_unicode=True))


def _indented(entry: Any) -> str:
    return "".join(f"  {line}" if line.strip() else line for line in _dumped([entry]).splitlines(keepends=True))


def _scrubbed(run: Run, dialect: str, secrets: Sequence[str]) -> Iterator[Interaction]:
    takes = scrubbed([take_of(one, HOSTS[dialect]) for one in run], secrets)
    for one, take in zip(run, takes, strict=True):
        body = take.body.decode() if isinstance(one.body, str) else orjson.loads(take.body) if take.body else None
        uri = urlsplit(take.uri)
        query = dict(parse_qsl(uri.query, keep_blank_values=True))
        yield replace(one, path=uri.path, query=query, body=body, answer=orjson.loads(take.answer))
