"""What the site needs beside `docs/`: pages kept elsewhere in the repository, links to them, checks of the built pages.

mkdocs calls the `on_…` functions (`hooks` in `mkdocs.yml`).
"""

from __future__ import annotations

import html
import json
import posixpath
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from lunr import lunr
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
    "integrations/cluster/README.md": "cluster.md",
}
"""Files of the repository that are pages of the site under another name."""

SEARCHES = {
    "FastAPI": "cookbook/fastapi.html",
    "Django": "cookbook/django.html",
    "Celery": "cookbook/celery.html",
    "LangChain": "cookbook/langchain.html",
    "Pydantic AI": "cookbook/pydantic-ai.html",
    "structured output": "cookbook/structured-output.html",
    "timeout": "cookbook/retries.html",
    "retry": "cookbook/retries.html",
    "citation": "cookbook/files.html",
    "approval": "cookbook/mcp.html",
    "vcrpy": "cookbook/from-vcrpy.html",
    "MagicMock": "cookbook/from-magicmock.html",
    "webhook": "webhooks.html",
    "GitHub Actions": "ci.html",
    "troubleshooting": "troubleshooting.html",
    "function_call": "python-api.html",
    "rate_limit": "python-api.html",
    "Outcome": "python-api.html",
}
"""What somebody new searches for, and the page that has to be among the first hits."""
FIRST_HITS = 3
TITLE_BOOST = 1000
"""How much more the theme's search counts a word of a title."""
OWNER = "OWNER/responses-harness"
"""What pages call the repository; the site has the name that pyproject.toml has."""

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

    return _LINK.sub(to_page, markdown.replace(OWNER, _repository()))


def _repository() -> str:
    """Read the owner and the name of the repository from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return urlsplit(project["urls"]["Repository"]).path.strip("/")


def on_post_build(config: MkDocsConfig) -> None:
    """Write `llms.txt`; fail when a built page or style sheet loads from another host, or the search misses a page."""
    sections = json.loads((Path(config.site_dir) / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    _check_searches(sections)
    (Path(config.site_dir) / "llms.txt").write_text(_list_pages(sections, config), encoding="utf-8")
    for page in (file for file in Path(config.site_dir).rglob("*") if file.suffix in (".html", ".css")):
        found = _LOADED.finditer(page.read_text(encoding="utf-8"))
        if hosts := {urlsplit(link[1] or link[2]).netloc for link in found}:
            raise PluginError(f"{page.name} loads from {', '.join(sorted(hosts))}; the site must not need a network")


def _list_pages(sections: Sequence[Mapping[str, str]], config: MkDocsConfig) -> str:
    """List the pages with their first sentence, as programs that read a site expect it in `llms.txt`."""
    pages = [section for section in sections if "#" not in section["location"] and section["location"]]
    lines = [f"- [{html.unescape(page['title'])}]({page['location']}){_first_sentence(page['text'])}" for page in pages]
    return "\n".join([f"# {config.site_name}", "", f"> {config.site_description}", "", "## Pages", "", *lines, ""])


def _first_sentence(text: str) -> str:
    """Take the first sentence of a page, after a colon; nothing from a page without one."""
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
    found = re.match(r"[^|]{10,200}?[.:](?= |$)", words)
    return f": {found[0].rstrip(':')}" if found else ""


def _check_searches(sections: Sequence[Mapping[str, str]]) -> None:
    """Fail when one of `SEARCHES` does not have its page among the first hits."""
    fields = [{"field_name": "title", "boost": TITLE_BOOST}, "text"]
    search = lunr(ref="location", fields=fields, documents=sections)
    for words, page in SEARCHES.items():
        hits = list(dict.fromkeys(hit["ref"].partition("#")[0] for hit in search.search(words)))[:FIRST_HITS]
        if page not in hits:
            raise PluginError(f"who searches for {words!r} finds {', '.join(hits) or 'nothing'}, not {page}")
