"""What MkDocs does with the documentation beside making pages.

The README comes first. Pages link to sources, which are no part of the site: such a link becomes its text,
and the path. `::: MODULE` shows the public names of the module, which its front only declares.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).resolve().parents[1]
DOCS = CHECKOUT / "docs"
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
_MODULE = re.compile(r"^::: (\S+)\n(?! )", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the README, as the first page."""
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Return a page without links that leave the site, with the names of modules."""
    place = (DOCS / page.file.src_uri).parent

    def link(match: re.Match[str]) -> str:
        bang, text, target, _ = match.groups()
        path = (place / target).resolve()
        if path.is_relative_to(DOCS) and path.exists() and not path.is_dir():
            return match[0]
        if bang:
            return f"*{text}*"
        path = path if path.is_relative_to(CHECKOUT) and path.exists() else CHECKOUT / target
        return f"{text} (`{path.relative_to(CHECKOUT)}` of the sources)"

    return _MODULE.sub(_with_members, _LINK.sub(link, markdown + "\n"))


def _with_members(match: re.Match[str]) -> str:
    module = import_module(match[1])
    names = [name for name in sorted(module.__all__, key=str.lower) if callable(getattr(module, name))]
    return f"{match[0]}    options:\n      members: [{', '.join(names)}]\n"
