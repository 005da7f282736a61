"""The content of a file: in memory a text of its bytes, elsewhere what reads them."""

from harness.core.exchange import InMemory, OnDisk

DATA = bytes(range(256))


def test_both_have_a_size_and_bytes() -> None:
    on_disk = OnDisk(len(DATA), lambda start, length: DATA[start : start + length])
    for content in (on_disk, InMemory(DATA.decode("latin-1"))):
        assert (content.size, content.read()) == (256, DATA)
    assert on_disk.read_part(254, 1) == b"\xfe"


def test_where_the_bytes_would_be_shown_their_number_is() -> None:
    assert str(OnDisk(209715200, lambda start, length: b"")) == "(209715200 bytes)"
