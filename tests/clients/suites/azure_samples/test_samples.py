"""Every sample of two packages, unmodified, ends as `expected.toml` says."""

import pytest
from expected import expected_of, is_as_expected
from running import samples_of

PROJECTS, CLASSIC = expected_of("azure-ai-projects"), expected_of("azure-ai-agents")


def as_expected(ended, told):
    printed = f"\n{ended.output[-2000:]}\n" + "\n".join(ended.requests)
    assert is_as_expected(ended, told), (
        f"{ended.sample} is to end with\n{told!r}, it ended with\n{str(ended)!r}{printed}"
    )


@pytest.mark.parametrize("sample", PROJECTS)
def test_projects(ended, sample):
    as_expected(ended[sample], PROJECTS[sample])


@pytest.mark.parametrize("sample", CLASSIC)
def test_classic(ended, sample):
    as_expected(ended[sample], CLASSIC[sample])


def test_all_of_projects(samples):
    assert samples_of(samples) == sorted(PROJECTS)


def test_all_of_classic(samples):
    assert samples_of(samples) == sorted(CLASSIC)
