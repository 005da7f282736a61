"""What is known of an exchange at the edge: its first end counts. `tests/server/test_edge.py` has the whole of it."""

from harness.core.delivery import SendLog, SendRecord, SendTimes


def test_the_first_end_counts() -> None:
    told: list[SendRecord] = []
    record = SendRecord(100.0, 7)
    record.on_end = told.append
    record.end(left_at=102.5)
    record.end(whole=True)
    assert (record.times.left, record.times.whole, record.times.connection) == (2.5, False, 7)
    assert told == [record]


def test_a_clock_that_is_set_back_makes_no_negative_time() -> None:
    record = SendRecord(100.0, 0)
    record.end(left_at=99.0)
    assert record.times.left == 0


def test_an_answer_within_the_process_went_out_whole_as_it_was_returned() -> None:
    log = SendLog()
    log.records |= {1: (100.0, 100.5, None), 2: (100.0, 100.5, [{}, {}])}
    assert [*log.values()] == [SendTimes(100.0, 100.5, 100.5, events, whole=True, ended=True) for events in (None, 2)]
