"""Pages of reports: seconds to write one, its size, and seconds until it can be used in Chromium.

Profiles are those of the tests: a small one, and a halo exchange of 8192 ranks in 50 regions with up to 26
partners each. The peer is the aim.
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

from common import Estimate, emit, estimate

from haloscope import explain
from support.pages import chromium
from support.sample import Grid, halo_profile

# Megabytes of a page, seconds to write it, seconds until it can be used.
AIMS = {"small": (1.0, 5.0, 2.0), "large": (25.0, 5.0, 2.0)}


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


def measure(name: str, what: str, grid: Grid, regions: int, rounds: int, directory: Path) -> None:
    size, writing, using = AIMS[name]
    profile = halo_profile(grid, regions=regions).write(directory / f"{name}.halo")
    page = directory / f"{name}.html"
    seconds = [timed(lambda: explain.report(profile, page)) for _ in range(rounds)]
    show(f"page of {what}", "MB", [page.stat().st_size / 1e6], size)
    show(f"page of {what}, written", "s", seconds, writing)
    show(f"page of {what}, until all is drawn", "s", opened(page, rounds), using)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--regions", type=int, default=50, help="with messages, of the large profile")
    parser.add_argument("--ranks", type=int, default=32, help="along one axis; 16 and 16 along the others")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        measure("small", "8 ranks", (2, 2, 2), 3, options.rounds, directory)
        grid = (options.ranks, 16, 16)
        what = f"{256 * options.ranks} ranks × {options.regions} regions × 26 partners"
        measure("large", what, grid, options.regions, options.rounds, directory)


if __name__ == "__main__":
    main()
