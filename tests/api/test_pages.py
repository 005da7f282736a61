"""A page of a list: which objects it shows, in which order, and whether others follow."""

from typing import Any

from harness.api.pages import page


class TestAPage:
    ITEMS = tuple({"id": f"msg_{number}"} for number in range(30))

    def ids(self, **query: Any) -> tuple[list[int], bool]:
        shown = page(self.ITEMS, query)
        numbers = [int(item["id"].partition("_")[2]) for item in shown["data"]]
        ends = (shown["first_id"], shown["last_id"])
        assert ends == ((f"msg_{numbers[0]}", f"msg_{numbers[-1]}") if numbers else (None, None))
        return numbers, shown["has_more"]

    def test_a_page_is_the_newest_twenty_first(self) -> None:
        assert self.ids() == (list(range(29, 9, -1)), True)

    def test_a_page_goes_on_after_the_last_of_the_page_before(self) -> None:
        assert self.ids(after="msg_10", limit=5) == ([9, 8, 7, 6, 5], True)
        assert self.ids(after="msg_5", limit=5) == ([4, 3, 2, 1, 0], False)
        assert self.ids(after="msg_0") == ([], False)

    def test_a_page_may_begin_with_the_oldest(self) -> None:
        assert self.ids(order="asc", limit=2) == ([0, 1], True)
        assert self.ids(order="asc", after="msg_27", limit=100) == ([28, 29], False)

    def test_a_page_ends_before_an_item_only_if_that_comes_later(self) -> None:
        assert self.ids(order="asc", after="msg_4", before="msg_7") == ([5, 6], False)
        for before in ("msg_0", "msg_4"):
            assert self.ids(order="asc", after="msg_4", before=before, limit=5) == ([5, 6, 7, 8, 9], True)
        assert self.ids(after="msg_20", before="msg_29", limit=2) == ([19, 18], True)

    def test_a_page_after_an_unknown_item_is_the_first(self) -> None:
        assert self.ids(after="msg_x", limit=1) == ([29], True)
