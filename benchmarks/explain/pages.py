"""Pages of reports: seconds to write one, its size, and seconds until it can be used in Chromium.

Profiles are those of the tests: a small one, and a halo exchange of 8192 ranks in 50 regions with up to 26
partners each. The page with a timeline has 10^6 calls of 1000 ranks; its frames are those of moves over ranks
and time, and of zooming. The peer is the aim.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np
from common import Estimate, emit, estimate

from haloscope import explain
from support.pages import chromium
from support.profiles import Draft
from support.sample import Grid, halo_profile
from support.traced_drafts import CALL, WORLD, symbol, traced_draft

# Megabytes of a page, seconds to write it, seconds until it can be used.
AIMS = {"small": (1.0, 5.0, 2.0), "large": (25.0, 5.0, 2.0), "timeline": (25.0, 5.0, 2.0)}
FRAME = 1000 / 30  # ms
# Milliseconds between frames. Before each of them the wheel moves to other ranks, zooms in, or moves in time.
MOVING = """async () => {
  const next = () => new Promise(requestAnimationFrame);
  const canvas = document.getElementById("timeline-canvas");
  canvas.scrollIntoView();
  await new Promise((done) => setTimeout(done, 1000));
  const { left, top } = canvas.getBoundingClientRect();
  const times = [];
  for (const wheel of [{ deltaY: 280, shiftKey: true }, { deltaY: -35 }, { deltaX: 50 }]) {
    for (let i = 0; i < 60; i++) {
      const all = { clientX: left + 500, clientY: top + 100, bubbles: true, cancelable: true, ...wheel };
      canvas.dispatchEvent(new WheelEvent("wheel", all));
      times.push(await next());
    }
  }
  return times.slice(1).map((time, i) => time - times[i]);
}"""


def show(case: str, unit: str, samples: list[float], aim: float) -> None:
    found = estimate(samples)
    ratio = Estimate(*(aim / value for value in (found.median, found.high, found.low)))
    emit(
        "explain-pages",
        case,
        ours=found.median,
        peer=aim,
        peer_name="the aim",
        unit=unit,
        ratio=ratio,
        target=1.0,
    )


def timed(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def opened(page: Path, rounds: int) -> list[float]:
    """Return the seconds in Chromium from the request of the page until all of it is drawn."""
    samples = []
    with chromium() as browser:
        for _ in range(rounds):
            tab = browser.new_page(viewport={"width": 1400, "height": 1000})
            begin = time.perf_counter()
            tab.goto(page.as_uri())
            tab.locator("html[data-ready]").wait_for(state="attached", timeout=120_000)
            samples.append(time.perf_counter() - begin)
            tab.close()
    return samples


def ring(ranks: int, rounds: int) -> Draft:
    """Every microsecond each rank sends to the next rank, and then receives."""
    message = {"communicator": WORLD, "tag": 5, "size": 8, "path": 1, "ranks": ranks}
    symbols = [
        symbol(0, CALL, call="MPI_Send", action=1, partner=1, **message),
        symbol(1, CALL, call="MPI_Recv", action=3, partner=ranks - 1, **message),
    ]
    begin = (1000 * np.arange(rounds)[:, None] + np.array([0, 400])).ravel()
    return traced_draft(symbols, [np.column_stack([begin, begin + 300])] * ranks)


def moved(page: Path) -> list[float]:
    """Return the milliseconds of each frame."""
    with chromium() as browser:
        tab = browser.new_page(viewport={"width": 1400, "height": 1000})
        tab.goto(page.as_uri())
        tab.locator("html[data-ready]").wait_for(state="attached", timeout=120_000)
        return [float(time) for time in tab.evaluate(MOVING)]


def measure(name: str, what: str, draft: Draft, rounds: int, directory: Path) -> Path:
    size, writing, using = AIMS[name]
    profile = draft.write(directory / f"{name}.halo")
    page = directory / f"{name}.html"
    seconds = [timed(lambda: explain.report(profile, page)) for _ in range(rounds)]
    show(f"page of {what}", "MB", [page.stat().st_size / 1e6], size)
    show(f"page of {what}, written", "s", seconds, writing)
    show(f"page of {what}, until all is drawn", "s", opened(page, rounds), using)
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--regions", type=int, default=50, help="with messages, of the large profile")
    parser.add_argument("--ranks", type=int, default=32, help="along one axis; 16 and 16 along the others")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        measure("small", "8 ranks", halo_profile((2, 2, 2)), options.rounds, directory)
        grid: Grid = (options.ranks, 16, 16)
        what = f"{256 * options.ranks} ranks × {options.regions} regions × 26 partners"
        measure("large", what, halo_profile(grid, regions=options.regions), options.rounds, directory)
        what = "10^6 calls of 1000 ranks"
        frames = moved(measure("timeline", what, ring(1000, 500), options.rounds, directory))
        show(f"page of {what}, a frame", "ms", frames, FRAME)
        show(f"page of {what}, a frame slower than 19 of 20", "ms", [float(np.percentile(frames, 95))], FRAME)


if __name__ == "__main__":
    main()
