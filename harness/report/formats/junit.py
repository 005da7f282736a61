"""A report as JUnit XML, for the test views of build servers."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from harness.report.coverage import DIMENSIONS
from harness.report.model import Report, Trial, line

_UNSAYABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot say."""
_ELEMENTS = {"failed": "failure", "error": "error", "skipped": "skipped", "xfailed": "skipped"}
"""How a test that did not simply pass is marked, by its outcome."""


def written(report: Report) -> str:
    """The report as one suite; a failed test shows what was found in it."""
    outcomes = [_ELEMENTS.get(trial.outcome, "") for trial in report.trials]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
    }
    whole = f"{sum(trial.seconds for trial in report.trials):.3f}"
    suites = Xml.Element("testsuites", {"name": "contract", **counts, "time": whole})
    more = {"skipped": str(outcomes.count("skipped")), "time": whole}
    suite = Xml.SubElement(suites, "testsuite", {"name": "contract", **counts, **more})
    properties = Xml.SubElement(suite, "properties")
    for name in DIMENSIONS:
        value = f"{len(report.hit[name])} of {len(report.known[name])}"
        Xml.SubElement(properties, "property", {"name": name, "value": value})
    for trial in report.trials:
        _case(suite, trial)
    Xml.SubElement(suite, "system-out").text = line(report.totals, report.share("rules"))
    Xml.indent(suites)
    return Xml.tostring(suites, encoding="unicode", xml_declaration=False, short_empty_elements=True).join(
        ('<?xml version="1.0" encoding="utf-8"?>\n', "\n")
    )


def _case(suite: Xml.Element, trial: Trial) -> None:
    module = trial.id.partition("::")[0].removesuffix(".py").replace("/", ".")
    inside, _, name = trial.id.partition("::")[2].rpartition("::")
    named = {"classname": _plain(".".join([module, *inside.split("::")]).rstrip(".")), "name": _plain(name or trial.id)}
    case = Xml.SubElement(suite, "testcase", {**named, "time": f"{trial.seconds:.3f}"})
    if element := _ELEMENTS.get(trial.outcome):
        message = next((found.message for found in trial.unexpected), trial.why)
        marked = Xml.SubElement(case, element, {"message": _plain(message.partition("\n")[0])})
        marked.text = _plain(_text(trial))


def _text(trial: Trial) -> str:
    told = [f"{trial.file}:{trial.line}", trial.why, *(f"{found.title}: {found.text}" for found in trial.unexpected)]
    return "\n".join(filter(None, told))


def _plain(text: str) -> str:
    return _UNSAYABLE.sub("\ufffd", text)
