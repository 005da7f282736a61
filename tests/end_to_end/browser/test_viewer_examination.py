"""The page of examinations in Chromium, as a reader uses it; skipped where there is no Chromium."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.flow import SequenceDiagram, SequenceMessage
from harness.examine.results import report_results
from harness.report.formats import write_report
from harness.report.formats.json_file import merge_reports
from tests.end_to_end.browser.chromium import EveryPage, look_at, look_once
from tests.end_to_end.browser.stories import EVIL
from tests.support.examined import cell, results

pytestmark = pytest.mark.slow
SHOWN = EVIL.replace("\u202e", "\\u202e").replace("\x07", "\\u0007")
MESSAGES = (SequenceMessage(0, 1, "request", EVIL, 1), SequenceMessage(1, 0, "answer", "yes"))
REFUSED = "Request 2 was refused (400): Invalid value: 'input_file'."


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a reader saw of two releases of a client, one of which says odd things, and of another client."""
    return look_once(tmp_path_factory, "examination", look)


def look(folder: Path) -> Any:
    odd = replace(
        cell("answers/text", "fail", "plain,replay", "must", EVIL),
        flow=f"1 {EVIL}",
        sequence=SequenceDiagram(("me", "API"), MESSAGES),
    )
    sent_back = "answers/file-citation-sent-back"
    old = results(odd, cell(sent_back), cell("tools/one-call"), client="mine 1.0")
    new = results(
        cell("answers/text"),
        cell(sent_back, "fail", "plain,replay", "must", REFUSED),
        cell("tools/one-call"),
        client="mine 2.0",
    )
    other = results(cell("answers/text", "warn", "plain,replay", "should", "so so"), cell(sent_back), client=EVIL)
    file = folder / "results.html"
    write_report(merge_reports(list(map(report_results, (old, new, other)))), file, file.suffix)
    return look_at(file, "examination.mjs", old="mine 1.0", new="mine 2.0")


class TestThePage(EveryPage):
    """Of examinations of several clients."""


def test_every_link_leads_somewhere(seen: Any) -> None:
    assert seen["crawled"]["dead"] == []


def test_causes_are_rows_and_clients_are_columns(seen: Any) -> None:
    assert seen["head"] == ["cause", "mine 1.0", "mine 2.0", SHOWN]
    assert [cause.strip("✗! ") for cause in seen["causes"]] == [SHOWN, REFUSED, "so so"]
    assert "1 case passed by every client" in seen["passed"][0]


def test_a_cell_opens_beside_a_client_that_did_well(seen: Any) -> None:
    wrong, right = seen["opened"]["sides"]
    assert wrong.startswith("✗ mine 1.0")
    assert SHOWN in wrong
    assert "responses-harness examine mine:Adapter --case answers/text --modes plain,replay" in wrong
    assert right.startswith("✓ mine 2.0")
    assert seen["opened"]["steps"] >= 1
    assert seen["escaped"] == "#/examine"


def test_two_releases_are_compared(seen: Any) -> None:
    assert seen["compared"]["head"] == ["cause", "mine 1.0", "mine 2.0"]
    assert seen["compared"]["counts"] == ["1 new", "1 gone", "0 in both"]
    assert len(seen["compared"]["causes"]) == 2
    assert "change=new" in seen["onlyNew"]["address"]
    assert [cause.strip("✗ ") for cause in seen["onlyNew"]["causes"]] == [REFUSED]
