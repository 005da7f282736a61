"""Fuzz the parsers, guided by coverage: `python -m tests.fuzz.parsers [NAME…] [--minutes 5] [--keep]`.

Needs `atheris` (`pip install atheris`; it is large, and not part of the `dev` extra). Each parser runs in a process of its
own. What it finds is printed, and with `--keep` written to `found.json`, which the tests replay.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

LARGEST = 64_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; returns 1 if anything was found."""
    said = _parser().parse_args(arguments)
    if find_spec("atheris") is None:
        print("python -m tests.fuzz.parsers needs atheris: pip install atheris", file=sys.stderr)
        return 2
    if said.inside:
        _fuzz(said.names[0], said.minutes, said.keep)
    from tests.fuzz.parsers.targets import named

    failed = []
    for name in named(said.names):
        print(f"{name}: {said.minutes:g} minutes", flush=True)
        options = ["--minutes", str(said.minutes), *(["--keep"] if said.keep else [])]
        command = [sys.executable, "-m", "tests.fuzz.parsers", name, "--inside", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            assert running.stdout
            said_so = [line for line in running.stdout if _is_shown(line, name)]
        failed += [name] if running.returncode or any(line.startswith(f"{name}: ") for line in said_so) else []
    print(f"found something in: {', '.join(failed)}" if failed else "nothing was found")
    return 1 if failed else 0


def _is_shown(line: str, name: str) -> bool:
    """Return whether a line of the fuzzer is for people; such a line is printed."""
    shown = line.startswith((f"{name}: ", "  b'", '  b"', "==", "stat::number", "SUMMARY"))
    if shown:
        print(line, end="", flush=True)
    return shown


def _fuzz(name: str, minutes: float, keeps: bool) -> None:
    """Fuzz one parser in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["harness", "yaml", "python_multipart"]):
        from tests.fuzz.parsers.contract import Finding, complaint, keep
        from tests.fuzz.parsers.targets import named
    (parser,) = named([name]).values()

    seen = set[str]()

    def take(data: bytes) -> None:
        said = complaint(parser, data)
        if said and (kind := re.sub(r"\d+|'[^']*'", "…", said)[:80]) not in seen:
            seen.add(kind)
            print(f"{name}: {said}\n  {data[:1500]!r}", flush=True)
            if keeps:
                keep(Finding(name, data, said))

    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for number, seed in enumerate(parser.seeds()):
            (corpus / str(number)).write_bytes(seed[:LARGEST])
        words = Path(folder, "words")
        words.write_text("".join(f'"{_escape(word)}"\n' for word in (*parser.words, b"x")))  # none at all is an error
        limits = [f"-max_total_time={minutes * 60:.0f}", f"-max_len={LARGEST}", "-timeout=20", "-rss_limit_mb=2048"]
        quiet = ["-verbosity=0", "-print_final_stats=1", f"-artifact_prefix={folder}/"]
        atheris.Setup([sys.argv[0], *limits, *quiet, f"-dict={words}", str(corpus)], take)
        atheris.Fuzz()


def _escape(word: bytes) -> str:
    """Return a word as libFuzzer's dictionaries have it."""
    return "".join(f"\\x{byte:02x}" for byte in word)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.fuzz.parsers", description="Fuzz the parsers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which parsers, by default all, one after the other")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long each")
    parser.add_argument("--keep", action="store_true", help="add what is found to found.json")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
