"""Self-contained pages: the shell of each page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from haloscope.base.lazy import lazily

if TYPE_CHECKING:
    from haloscope.profile.page.shell import page as page
    from haloscope.profile.page.shell import write_page as write_page

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazily(__name__, __file__)
