"""What pytest lists of the options and markers."""

from harness.pytest_plugin.options import REPORT_SUFFIXES
from harness.report.formats import FORMATS
from tests.support.inner_run import Run


def test_the_marker_is_declared(run: Run) -> None:
    run("", "--markers").shows('@pytest.mark.harness(unused="fail"): *')


def test_the_help_lists_every_format_of_a_report() -> None:
    assert tuple(FORMATS) == REPORT_SUFFIXES
