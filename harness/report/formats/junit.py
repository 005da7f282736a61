"""A report as JUnit XML, for the test views of build servers."""

import re
from xml.etree import ElementTree as Xml

from harness.core.text import escape_controls
from harness.report.api_coverage import DIMENSIONS
from harness.report.report import Report, ReportCase, unknown_model_lines

_INVALID_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""
_OUTCOME_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped", "xfailed": "skipped"}
"""The child element of a test case, by the outcome of the test."""


def render(report: Report) -> str:
    """Render the report as one suite; a failed test shows its causes."""
    outcomes = [_OUTCOME_ELEMENTS.get(case.outcome, "") for case in report.cases]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
    }
    total_seconds = f"{sum(case.seconds for case in report.cases):.3f}"
    suites = Xml.Element("testsuites", {"name": "contract", **counts, "time": total_seconds})
    suite_counts = {"skipped": str(outcomes.count("skipped")), "time": total_seconds}
    suite = Xml.SubElement(suites, "testsuite", {"name": "contract", **counts, **suite_counts})
    properties = Xml.SubElement(suite, "properties")
    for name in DIMENSIONS if not report.examination else ():
        value = f"{len(report.hit[name])} of {len(report.known[name])}"
        Xml.SubElement(properties, "property", {"name": name, "value": value})
    for case in report.cases:
        _add_case(suite, case)
    lines = [*report.head, *unknown_model_lines(report.unknown_models)]
    Xml.SubElement(suite, "system-out").text = "\n".join(lines)
    Xml.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{Xml.tostring(suites, encoding="unicode")}\n'


def _add_case(suite: Xml.Element, case: ReportCase) -> None:
    module = case.id.partition("::")[0].removesuffix(".py").replace("/", ".")
    inside, _, name = case.id.partition("::")[2].rpartition("::")
    names = {
        "classname": _replace_invalid(".".join([module, *inside.split("::")]).rstrip(".")),
        "name": _replace_invalid(name or case.id),
    }
    test = Xml.SubElement(suite, "testcase", {**names, "time": f"{case.seconds:.3f}"})
    if element_name := _OUTCOME_ELEMENTS.get(case.outcome):
        message = case.causes[0].what if case.causes else case.why
        outcome = Xml.SubElement(test, element_name, {"message": _replace_invalid(message.partition("\n")[0])})
        then = [f"then: {text}" for text in case.consequences] if case.causes else [case.why]
        text = "\n".join(filter(None, [*(f"{failure.name}\n{failure.text}" for failure in case.failures), *then]))
        outcome.text = _replace_invalid(text)


def _replace_invalid(text: str) -> str:
    """Escape control characters, and replace other characters that XML cannot hold."""
    return _INVALID_XML.sub("\ufffd", escape_controls(text))
