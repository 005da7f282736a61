"""Renders results as JUnit XML: a suite per client, a test case per cell; only cases with severity `must` can fail."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from harness.examine.cell import Cell
from harness.examine.report.results import ClientResult, ExaminationResults, area_of
from harness.report.formats.junit import render_xml, replace_invalid


def render(results: ExaminationResults) -> str:
    """Render the results as XML."""
    suites = Xml.Element("testsuites", {"name": "examine"})
    for result in results.clients:
        _add_suite(suites, result, results)
    return render_xml(suites)


def _add_suite(suites: Xml.Element, result: ClientResult, results: ExaminationResults) -> None:
    skipped = sum(not cell.mode for cell in result.cells)
    counts = {
        "tests": str(len(result.cells)),
        "failures": str(sum(cell.verdict == "fail" for cell in result.failures)),
        "errors": str(sum(cell.verdict != "fail" for cell in result.failures)),
        "skipped": str(skipped),
        "time": f"{result.seconds:.3f}",
    }
    suite = Xml.SubElement(suites, "testsuite", {"name": replace_invalid(result.client), **counts})
    for cell in result.cells:
        name = f"{cell.case}[{cell.mode}]" if cell.mode else cell.case
        names = {"classname": replace_invalid(f"{result.name}.{area_of(cell.case)}"), "name": name}
        test = Xml.SubElement(suite, "testcase", {**names, "time": f"{cell.seconds:.3f}"})
        _add_outcome(test, result, cell)


def _add_outcome(test: Xml.Element, result: ClientResult, cell: Cell) -> None:
    text = replace_invalid("\n".join([*cell.reasons, result.reproduce(cell), cell.flow]))
    if cell.is_failure:
        name = "failure" if cell.verdict == "fail" else "error"
        Xml.SubElement(test, name, {"message": replace_invalid(cell.reason)}).text = text
    elif cell.verdict == "not applicable":
        Xml.SubElement(test, "skipped", {"message": cell.verdict})
    elif cell.verdict != "pass":
        Xml.SubElement(test, "system-out").text = f"{cell.verdict}: {text}"
