"""MkDocs hooks: pages from the root of the checkout, links that stay right, and names of modules.

Pages link to sources, which are no part of the site: such a link becomes its text, and the path. `::: MODULE`
shows the public names of the module, which its front only declares.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).resolve().parents[1]
DOCS = CHECKOUT / "docs"
# Files of the checkout that are pages of the site.
_PAGES = {
    CHECKOUT / "README.md": "index.md",
    CHECKOUT / "CONTRIBUTING.md": "contributing.md",
    CHECKOUT / "CHANGELOG.md": "changelog.md",
    CHECKOUT / "SECURITY.md": "vulnerabilities.md",
    CHECKOUT / "CITATION.cff": "cite.md",
}
_MODULE = re.compile(r"^::: (\S+)\n(?! )", re.MULTILINE)
_CELL = re.compile(r"(?<=<code>)[\w./*-]{20,}(?=</code>)")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from the root of the checkout."""
    for path, name in _PAGES.items():
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8").replace("](docs/", "](")
            files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Return a page without links that leave the site, with the names of modules."""
    folder = (DOCS / page.file.src_uri).parent

    def link(match: re.Match[str]) -> str:
        bang, text, target, anchor = match.groups()
        path = (folder / target).resolve()
        if path.is_relative_to(DOCS) and path.exists() and not path.is_dir():
            return match[0]
        if bang:
            return f"*{text}*"
        path = path if path.is_relative_to(CHECKOUT) and path.exists() else CHECKOUT / target
        if path in _PAGES:
            return f"[{text}]({os.path.relpath(DOCS / _PAGES[path], folder)}{anchor or ''})"
        return f"{text} (`{path.relative_to(CHECKOUT)}` of the sources)"

    return _MODULE.sub(_with_members, _LINK.sub(link, markdown + "\n"))


def on_page_content(html: str, **_: Any) -> str:
    """Return a page whose tables may break long paths after a slash, as a browser does not by itself."""
    return _CELL.sub(lambda cell: cell[0].replace("/", "/<wbr>"), html)


def _with_members(match: re.Match[str]) -> str:
    module = import_module(match[1])
    names = [name for name in sorted(module.__all__, key=str.lower) if callable(getattr(module, name))]
    return f"{match[0]}    options:\n      members: [{', '.join(names)}]\n"
