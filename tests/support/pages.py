"""Pages of ours in a real browser: opened, watched for troubles, and the data that they carry."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page

from support.limits import HANG
from support.missing import missing

_CHROMIUM = Path("/usr/bin/chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield Debian's Chromium, without a window."""
    if not _CHROMIUM.exists():
        missing("no browser: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=str(_CHROMIUM), args=["--no-sandbox", "--disable-gpu"]
        )
        yield started
        started.close()


def plotted(page: Page, figure: str, what: str) -> Any:
    """Return a property of each trace of a figure, such as `x`."""
    return page.evaluate(f"document.getElementById('{figure}').data.map(t => Array.from(t.{what}))")


class Look:
    """`look(page)` opens a page when its scripts have run; `check` says whether anything went wrong."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._troubles: list[str] = []
        self._pages: list[Page] = []

    def __call__(self, path: Path, width: int = 1400, scheme: Literal["light", "dark"] = "light") -> Page:
        page = self._browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
        page.set_default_timeout(1000 * HANG)
        self._pages.append(page)
        page.on("console", lambda message: self._troubles.append(message.text))
        page.on("pageerror", lambda error: self._troubles.append(str(error)))
        page.on("dialog", lambda dialog: self._troubles.append(dialog.message))
        page.on("request", lambda request: self._troubles.append(request.url))
        page.goto(path.resolve().as_uri())
        page.locator("html[data-ready]").wait_for(state="attached")
        return page

    def check(self) -> None:
        """Assert that no page logged, fetched or asked anything."""
        for page in self._pages:
            page.close()
        texts = [text for text in self._troubles if not text.startswith(("file:", "data:", "blob:"))]
        if texts:
            pytest.fail("\n".join(texts))


def wait_until(page: Page, condition: str) -> None:
    """Playwright's own wait_for_function needs eval, which the page forbids."""
    end = time.monotonic() + HANG
    while time.monotonic() < end:
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never came true: {condition}")


def hover_bar(page: Page, plot: str, number: int | None = None) -> Locator:
    """Move the mouse over a bar of a plot, by default the widest, until its text is shown. Return the text.

    Plotly draws again after a change, and forgets a mouse that does not move afterwards.
    """
    bars, text = page.locator(f"{plot} .bars path"), page.locator(f"{plot} .hoverlayer text")
    bars.first.wait_for(state="attached")
    end = time.monotonic() + HANG
    while not text.first.is_visible():
        assert time.monotonic() < end, f"{plot}: no text of a bar is shown"
        widths = bars.evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
        bar = bars.nth(widths.index(max(widths)) if number is None else number)
        # Plotly's element above the bar receives the mouse.
        bar.hover(force=True)
        page.mouse.move(0, 0)
        bar.hover(force=True)
        page.wait_for_timeout(50)
    return text


def page_data(path: Path) -> Any:
    """Return the data of a page, as its scripts find them."""
    found = re.search(
        r'<script type="text/plain" id="data" data-bytes="(\d+)">([^<]*)<', path.read_text("utf-8")
    )
    assert found
    digits = np.frombuffer(found[2].replace("}", "<").encode("ascii"), dtype=np.uint8) - 40
    words = digits.reshape(-1, 5) @ 85 ** np.arange(4, -1, -1)
    return json.loads(zlib.decompress(words.astype(">u4").tobytes()[: int(found[1])]))


def page_text(path: Path) -> str:
    """Return what a page says, with its data."""
    return path.read_text("utf-8") + json.dumps(page_data(path), ensure_ascii=False)
