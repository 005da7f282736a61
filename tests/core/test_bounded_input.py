"""Files made to fill the memory: compressed, sparse, with endless lines, with many small values; and what is no file."""

import gzip
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.cassettes.files import read_cassette
from harness.cassettes.format.untrusted import UnreadableRecording
from harness.core.bounded_input import (
    LIMIT_VARIABLE,
    MAX_EXPANDED,
    find_excess,
    max_yaml_nodes,
    open_bounded,
    read_bounded,
    text_size,
)
from harness.core.errors import ConfigError, Malformed
from harness.verify.read_files import read_recording
from tests.support.processes import spawn
from tests.support.slow import slow_except

MIB = 1 << 20
LIMIT = 4
"""MiB that are read at once in these tests, so that they are quick."""
MOST_MEMORY = 150
"""MiB that a process may then take for what it reads."""
MEASURE = """
import resource, sys
from pathlib import Path
from harness.core.errors import HarnessError
from harness.verify.read_files import read_recording
from harness.cassettes.files import read_cassette
from harness.report.formats.json_file import read_report
from harness.verify.report_cases import find_record_lines
from harness.world.scripting.load import load_script_file
from harness.cli.view import read_viewed
readers = {
    "verify": read_recording,
    "cassette": lambda path: [read_cassette(path)],
    "report": lambda path: [read_report(path)],
    "script": lambda path: [load_script_file(path)],
    "view": lambda path: [read_viewed([path])],
    "lines": lambda path: print(path.as_posix(), find_record_lines(path)) or [],
}
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
try:
    for _ in readers[sys.argv[1]](Path(sys.argv[2])):
        pass
    print("read")
except HarnessError as problem:
    print(problem)
print(peak() - before)
"""
EXCHANGE = {
    "request": {"method": "POST", "uri": "https://api.openai.com/v1/responses", "body": "{}"},
    "response": {"status": 400, "body": {"error": {"message": "No."}}},
}
RECORDING = json.dumps({"interactions": [EXCHANGE]}).encode()

Write = Callable[[Path], None]
UNREAD = ": cannot be read: "
MANY_OBJECTS = "it has more than 131072 objects and lists; set"


def sparse(size: int) -> Write:
    def write(path: Path) -> None:
        with path.open("wb") as out:
            out.truncate(size)

    return write


def packed(*pieces: tuple[bytes, int]) -> Write:
    """Return a compressed file of pieces, each so many times."""

    def write(path: Path) -> None:
        with gzip.open(path, "wb", compresslevel=1) as out:
            for piece, times in pieces:
                out.write(piece * times)

    return write


def plain(*pieces: tuple[bytes, int]) -> Write:
    def write(path: Path) -> None:
        path.write_bytes(b"".join(piece * times for piece, times in pieces))

    return write


HOSTILE = {
    "sparse YAML": ("x.yaml", sparse(2 << 30), "more than 4 MiB; split it into JSON lines"),
    "sparse JSON": ("x.json", sparse(2 << 30), "more than 4 MiB"),
    "sparse JSON lines": ("x.jsonl", sparse(2 << 30), "more than 4 MiB"),
    "compressed blanks": ("x.json.gz", packed((RECORDING, 1), (b" ", 100 * MIB)), "more than 4 MiB"),
    "compressed lines": ("x.jsonl.gz", packed((json.dumps(EXCHANGE).encode() + b"\n", 1), (b"{}\n", 20 * MIB)),
                         "100 times as large|at least 1000 more like it"),
    "compressed blank lines": ("x.json.gz", packed((RECORDING, 1), (b"\n", 70 * MIB)), "more than 4 MiB"),
    "many lists": ("x.json", plain((RECORDING[:-2] + b",", 1), (b"[],", MIB), (b"1]}", 1)), "objects and lists; split it"),
    "many values in YAML": ("x.yaml", plain((b"interactions:\n", 1), (b"- 1\n", MIB - 10)), "too many values; split it"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "name"), slow_except((3, 15), [(reader, name) for reader in ("verify", "cassette") for name in HOSTILE])
)
def test_no_file_fills_the_memory(reader: str, name: str, tmp_path: Path) -> None:
    file, write, why = HOSTILE[name]
    write(path := tmp_path / file)
    told, taken = measure(reader, path)
    assert int(taken) < MOST_MEMORY
    assert path.as_posix() in told
    if reader == "verify" or "sparse" in name:
        assert any(part in told for part in why.split("|")), told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "name", "write", "why"),
    slow_except(
        (0, 3),
        [
            ("report", "x.json", sparse(2 << 30), f"{UNREAD}it has more than 4 MiB; set {LIMIT_VARIABLE} in the"),
            ("report", "x.json", packed((b" ", 300 * MIB)), f"{UNREAD}decompressed it "),
            ("report", "x.json", plain((b"[", 1), (b"[],", MIB), (b"1]", 1)), UNREAD + MANY_OBJECTS),
            ("script", "x.py", sparse(2 << 30), f"{UNREAD}it has more than 4 MiB; set {LIMIT_VARIABLE} in the"),
            ("script", "x.yaml", sparse(2 << 30), f"{UNREAD}it has more than 4 MiB"),
            ("view", "x.yaml", sparse(8 << 30), "a line of more than 4 MiB"),
            ("view", "x.jsonl", sparse(8 << 30), "a line of more than 4 MiB"),
            ("view", "x.html", sparse(8 << 30), f"{UNREAD}it has more than 4 MiB"),
            ("lines", "x.jsonl", sparse(8 << 30), " []"),
        ],
    ),
)
def test_nothing_else_that_is_read_fills_the_memory(
    reader: str, name: str, write: Write, why: str, tmp_path: Path
) -> None:
    write(path := tmp_path / name)
    told, taken = measure(reader, path)
    assert int(taken) < MOST_MEMORY
    assert why in told
    assert path.as_posix() in told


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["cassette", "report"])
def test_a_compressed_file_that_breaks_off_is_named(reader: str, tmp_path: Path) -> None:
    (path := tmp_path / "x.json").write_bytes(gzip.compress(RECORDING)[:-9])
    assert "the compressed data breaks off or is damaged" in measure(reader, path)[0]


def measure(reader: str, path: Path) -> tuple[str, str]:
    """Return what a process says that reads a file, and the MiB that it took for it."""
    command = [sys.executable, "-c", MEASURE, reader, str(path)]
    limit = {**os.environ, LIMIT_VARIABLE: str(LIMIT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=limit)
    *told, taken = done.stdout.splitlines()
    return "\n".join(told), taken


def test_values_count_by_the_memory_that_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [text_size("x" * length) for length in (0, 99, 100, 250)] == [1, 1, 2, 3]
    monkeypatch.setenv(LIMIT_VARIABLE, "1")
    assert max_yaml_nodes() == 16_384


def test_the_limit_is_raised_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(RECORDING + b"\n" * MIB)
    monkeypatch.setenv(LIMIT_VARIABLE, "1")
    with pytest.raises(UnreadableRecording, match=rf"has more than 1 MiB; .*set {LIMIT_VARIABLE} in the environment"):
        list(read_recording(path))
    with pytest.raises(UnreadableRecording, match=r"has more than 1 MiB"):
        read_cassette(path)
    monkeypatch.setenv(LIMIT_VARIABLE, "2")
    assert len(list(read_recording(path))) == 1
    assert len(read_cassette(path).interactions) == 1


@pytest.mark.parametrize("text", ["0", "-1", "much", "1.5", "9" * 30])
def test_a_limit_that_is_none_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path := tmp_path / "x.json").write_bytes(RECORDING)
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    with pytest.raises(ConfigError, match="pass a number of MiB"):
        list(read_recording(path))


@pytest.mark.slow
def test_ordinary_compression_is_no_bomb(tmp_path: Path) -> None:
    line = json.dumps({**EXCHANGE, "text": "".join(map(str, range(200)))}).encode() + b"\n"
    (path := tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(line * 5000))
    assert len(list(read_recording(path))) == 5000


COMMANDS = [
    *("cassettes", "check", "drift --yes", "learn", "report", "verify", "view --text"),
    *(f"serve --port 0 --{option}" for option in ("certificate", "contract", "replay", "script")),
]
"""The commands that read a file of the user, each without its path."""


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_waits_for_a_pipe(command: str, tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "x.yaml")
    env = {**os.environ, "OPENAI_API_KEY": "sk-a"}
    with spawn([sys.executable, "-m", "harness", *command.split(), path], env=env) as child:
        told, problem = child.communicate(timeout=60)
    assert child.returncode == 2
    assert "cannot be read: it is a named pipe, not a file. " in told + problem


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("a named pipe", os.mkfifo),
        ("a device", lambda path: path.symlink_to("/dev/zero")),
        ("a socket", lambda path: socket.socket(socket.AF_UNIX).bind(str(path))),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_is_no_file_is_named(kind: str, make: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    make(path := Path("x"))
    with pytest.raises(OSError, match=f"it is {kind}, not a file"):
        read_bounded(path)


def test_a_file_that_grows_is_read_up_to_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "1")
    (path := tmp_path / "x.yaml").write_bytes(b"")
    with open_bounded(path) as content:
        sparse(8 << 30)(path)
        with pytest.raises(Malformed, match="it has more than 1 MiB"):
            content.read_rest(b"")


TENFOLD = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10 if n else 'x' * 10)}]\n" for n in range(10))
MERGED = "a0: &a0 {k: x}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 9))
TEXTS = f"a: &a {'x' * 30_000}\nb: [{', '.join(['*a'] * 400)}]\n"


def excess(text: str) -> tuple[int, str] | None:
    return find_excess(yaml.compose(text, yaml.SafeLoader))


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (TENFOLD, 5, "its aliases expand to more than 100,000 values"),
        (MERGED, 6, "its aliases expand to more than 100,000 values"),
        (TEXTS, 2, "its aliases expand to more than 100,000 values or 10 MB; write them out, or use fewer"),
        ("b: 1\na: &a [*a]", 2, "an alias stands for what contains it"),
        ("a: &a\n  b: {c: [*a]}", 1, "an alias stands for what contains it"),
        ("a:\n  - " + "[" * 100 + "]" * 100, 2, "nested more than 100 levels deep"),
        ("a:\n- 1\n- 0x" + "f" * 400, 3, "an integer of 402 characters; write a string"),
    ],
    ids=["lists", "merged mappings", "a long text", "itself", "its parent", "depth", "integer"],
)
def test_an_excess_is_named_with_its_line(text: str, line: int, problem: str) -> None:
    found = excess(text)
    assert found is not None
    assert (found[0], found[1][: len(problem)]) == (line, problem)


@pytest.mark.parametrize(
    "text",
    [
        "script: [&a {message: x}, *a, *a]",
        "a: " + "[" * 99 + "]" * 99,
        "a: &a " + "[" * 98 + "]" * 98 + "\nb: [*a, *a]",
        pytest.param("a: [" + ", ".join(["1"] * (MAX_EXPANDED + 1)) + "]", marks=pytest.mark.slow),
        f"a: &a {'x' * 1_000_000}\nb: [*a, *a, *a, *a, *a, *a, *a, *a]",
        pytest.param("a: &a [1, 2]\nb: [" + ", ".join(["1"] * MAX_EXPANDED) + "]\nc: [*a, *a]", marks=pytest.mark.slow),
        "a: " + "9" * 400,
        "a: '" + "9" * 1000 + "'",
    ],
    ids=[
        "aliases",
        "depth",
        "depth of an alias",
        "many without aliases",
        "a picture",
        "many, and two aliases",
        "integer",
        "digits as a string",
    ],
)
def test_what_is_written_out_or_used_a_few_times_is_not(text: str) -> None:
    assert excess(text) is None
