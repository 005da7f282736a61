"""The samples of both packages, run side by side before the first test looks at how one of them ended."""

import shutil
import sys
from pathlib import Path

import pytest
from running import run_samples

SOURCES = Path(sys.prefix, "sources")
"""The source distributions of the environment, unpacked."""


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """The folder of the samples: a copy, as some write beside themselves."""
    (found,) = SOURCES.glob("*/samples")
    copy = tmp_path_factory.mktemp("package") / "samples"
    shutil.copytree(found, copy)
    return copy


@pytest.fixture(scope="session")
def ended(request, samples, tmp_path_factory):
    """How the samples ended that this run has tests for, by their paths."""
    chosen = [item.callspec.params["sample"] for item in request.session.items if "ended" in item.fixturenames]
    there = [sample for sample in chosen if (samples / sample).exists()]
    return {sample.sample: sample for sample in run_samples(samples, there, tmp_path_factory.mktemp("output"))}
