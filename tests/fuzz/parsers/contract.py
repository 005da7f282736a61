"""What each parser promises: a value, or a documented error of at most 4 kB, within a second and 256 MiB."""

import resource
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.kept import read_cases, write_cases
from tests.fuzz.parsers.targets import Parser
from tests.support.cpu_time import cpu_time

SECONDS, MEGABYTES = 1.0, 256
"""CPU time and memory that at most 64,000 bytes may take."""
LONGEST = 4096
"""Characters of an error's message."""
KEPT = Path(__file__).parent / "found.json"


@dataclass(frozen=True, slots=True)
class Finding:
    """Bytes that a parser did not take as it must, and what it did."""

    parser: str
    data: bytes
    complaint: str

    def to_json(self) -> dict[str, str]:
        """As `found.json` keeps it, each byte a character."""
        return {"parser": self.parser, "was": self.complaint, "data": self.data.decode("latin-1")}


def kept() -> list[Finding]:
    """Return what earlier runs have found."""
    return [Finding(case["parser"], case["data"].encode("latin-1"), case["was"]) for case in read_cases(KEPT)]


def keep(finding: Finding) -> None:
    """Add a finding to `found.json`."""
    write_cases(KEPT, [case.to_json() for case in (*kept(), finding)])


def complaint(parser: Parser, data: bytes) -> str | None:
    """Return what is wrong with how a parser took these bytes; None if nothing is."""
    memory = peak_megabytes()
    try:
        with cpu_time() as spent:
            parser.parse(data)
    except parser.raises as problem:
        if not (text := str(problem)).strip() or not text.startswith(parser.begins):
            return f"message: {type(problem).__name__}: {text[:200]!r}"
        if len(text) > LONGEST:
            return f"length: {len(text):,} characters of {type(problem).__name__}: {text[:200]!r}"
    except Exception as problem:
        return f"exception: {type(problem).__name__}: {str(problem)[:200]}"
    if spent.seconds > SECONDS:
        return f"cost: {spent.seconds:.1f} s for {len(data):,} bytes"
    if (grown := peak_megabytes() - memory) > MEGABYTES:
        return f"memory: {grown} MiB for {len(data):,} bytes"
    return None


def peak_megabytes() -> int:
    """Return the most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
