"""What the site needs beside `docs/`: pages kept elsewhere in the repository, links to them, a check of the built pages.

mkdocs calls the `on_…` functions (`hooks` in `mkdocs.yml`).
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "benchmark.md",
    "cassettes/README.md": "cassettes.md",
}
"""Files of the repository that are pages of the site under another name."""

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|link(?=[^>]*rel="?(?:stylesheet|preload|icon)))\b[^>]*?"""
    r"""(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:url\(|@import )["']?((?:https?:)?//[^"'\s)]+)"""
)
"""What a page or a style sheet loads from another host."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in `docs/`."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    names = {name: source for source, name in PAGES.items()}
    source = names.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def to_page(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[0]))
        name = PAGES.get(target, target.removeprefix("docs/"))
        return posixpath.relpath(name, posixpath.dirname(page.file.src_uri) or ".")

    return _LINK.sub(to_page, markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Fail when a built page or style sheet loads anything from another host."""
    for page in (each for each in Path(config.site_dir).rglob("*") if each.suffix in (".html", ".css")):
        found = _LOADED.finditer(page.read_text(encoding="utf-8"))
        if hosts := {urlsplit(each[1] or each[2]).netloc for each in found}:
            raise PluginError(f"{page.name} loads from {', '.join(sorted(hosts))}; the site must not need a network")
