"""Reads what a page of the viewer holds."""

from html.parser import HTMLParser

from harness.viewer.json_form import read_text
from harness.viewer.page_data import Run, ShownCase


class Scripts(HTMLParser):
    """The data in a page, by the id of its script, and every address that it would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.loaded: list[str] = []
        self.id = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        members = dict(attrs)
        self.id = members.get("id") or "" if tag == "script" else ""
        self.loaded += [value for name in ("src", "href") if (value := members.get(name)) and value[0] != "#"]

    def handle_data(self, data: str) -> None:
        if self.id:
            self.found[self.id] = data
            self.id = ""


def in_page(page: str) -> tuple[Run, list[ShownCase]]:
    """Return the run and the cases in a page."""
    data = Scripts(page).found
    run = read_text(data["run"], Run)
    return run, [read_text(data[f"case-{number}"], ShownCase) for number in range(len(run.cases))]
