"""A file is replaced as a whole or not at all."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from harness.report.formats import FORMATS, render_report, write_report
from harness.report.replace_file import open_replacement
from tests.support.reports import make_report


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """As on a disk that is full after so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_report_that_does_not_fit_leaves_the_old_one(suffix: str, tmp_path: Path) -> None:
    (file := tmp_path / f"report{suffix}").write_text("old")
    render_report(make_report(), suffix)  # what it imports is cached in files, too
    with largest_file(50), pytest.raises(ConfigError, match=r"report\.\w+: cannot be written: .* Raise the limit"):
        write_report(make_report(), file, suffix)
    assert file.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]


def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    (file := tmp_path / "a").write_text("old")
    with pytest.raises(TypeError), open_replacement(file) as out:
        out.write("no bytes")  # type: ignore[arg-type]
    assert file.read_text() == "old"
    assert [*tmp_path.iterdir()] == [file]


def test_a_link_stays_and_leads_to_the_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a")
    with open_replacement(tmp_path / "link") as out:
        out.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == "new"


def test_what_is_no_ordinary_file_is_written_itself(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = subprocess.Popen([sys.executable, "-c", f"print(open({str(pipe)!r}).read())"], stdout=subprocess.PIPE)
    with open_replacement(pipe) as out:
        out.write(b"new")
    assert reader.communicate(timeout=60)[0].strip() == b"new"
    assert pipe.is_fifo()
