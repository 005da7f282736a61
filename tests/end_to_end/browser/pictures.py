"""Takes the pictures of the manual anew: `python -m tests.end_to_end.browser.pictures`, where Chromium is installed."""

from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from tests.clients.environments import ROOT
from tests.end_to_end.browser.chromium import look_at, report_stories

PICTURES = ROOT / "docs" / "pictures"
TOLD = "citations or hermes or approval_thread or tracker"
"""The tests of the pictures: the five stories."""
COLOURS = 96
"""So many are enough for text, and make a picture a third as large."""


def main() -> None:
    """Run the stories, and take a picture of the run, of a test and of a request."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        page = report_stories(Path(folder), f"-k '{TOLD}'")
        for name in look_at(page, "pictures.mjs", shots=str(PICTURES)):
            picture = PICTURES / f"{name}.png"
            Image.open(picture).convert("RGB").quantize(COLOURS).save(picture, optimize=True)
            print(picture)


if __name__ == "__main__":
    main()
