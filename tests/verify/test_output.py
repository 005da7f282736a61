"""What a judgement of recordings prints: the first of everything, counted, and no secret."""

from __future__ import annotations

from pathlib import Path

from harness.verify import output
from tests.support.recordings import HI, judged, recorded, write_jsonl


def test_the_report_lists_the_first_findings_and_where_the_rest_is(tmp_path: Path) -> None:
    (one,) = recorded(HI)
    tally, _ = judged(tmp_path, write_jsonl(tmp_path, [{**one, "request": {**HI, "colour": n}} for n in range(30)]))
    text = list(output.summary_lines(tally))
    assert any("Unknown parameter: 'colour'." in line for line in text)
    assert any("10 more" in line for line in text)


def test_each_number_counts_exchanges_each_list_differences(tmp_path: Path) -> None:
    good, wrong = recorded({**HI, "stream": True}, {**HI, "stream": True})
    for event in wrong["events"][1:3]:
        event["data"] |= {"sequence_number": "x", "colour": "blue"}
        del event["data"]["type"]
    wrong["events"][-1]["data"]["response"] |= {"temperature": 0.5, "top_p": 0.5}
    good["events"][-1]["data"]["response"] |= {"temperature": 0.5, "top_p": 0.5, "colour": "blue"}
    tally, report = judged(tmp_path, write_jsonl(tmp_path, [good, wrong]), respelled=True)
    assert (report["streams"]["judged"], report["streams"]["conform"], len(report["streams"]["findings"])) == (2, 1, 2)
    assert (report["respelled"]["judged"], len(report["respelled"]["different"])) == (1, 2)
    rows = list(zip(*(column.cells for column in output.counts_table(tally).columns), strict=True))
    assert rows[3:] == [("streams", "2", "1", "1", "-", "1"), ("respelled", "1", "-", "1", "-", "-")]
