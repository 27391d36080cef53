"""Picture of the roofline, by Plotly in a headless browser."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import missing

picture: Path | None = None  # the file, from run.py --picture; without it nothing is drawn
WIDTH, HEIGHT = 900, 560


@dataclass(frozen=True)
class Kernel:
    """Reached speed in GFlop/s, and operations per byte."""

    name: str
    intensity: float
    reached: float


def draw(bandwidth: float, peak: float, kernels: Sequence[Kernel]) -> None:
    """Draw the limits in GB/s and GFlop/s, of one core while the other core runs the same code."""
    if picture is None:
        return
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing(f"{picture}: no playwright; `make setup-check` brings it")
        return
    if (chromium := shutil.which("chromium")) is None:
        missing(f"{picture}: no chromium: apt-get install chromium")
        return
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        page = Path(directory) / "roofline.html"
        _figure(bandwidth, peak, kernels).write_html(page)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        view.goto(page.as_uri())
        view.locator(".main-svg").first.wait_for()
        view.wait_for_timeout(500)
        view.screenshot(path=picture)
        browser.close()


def _figure(bandwidth: float, peak: float, kernels: Sequence[Kernel]) -> Any:
    import plotly.graph_objects as go

    figure = go.Figure(
        layout={
            "template": "simple_white",
            "width": WIDTH,
            "height": HEIGHT,
            "showlegend": False,
            "margin": {"l": 70, "r": 30, "t": 30, "b": 60},
            "font": {"size": 14},
            "xaxis": {"type": "log", "title": {"text": "operations a byte"}, "dtick": "D1"},
            "yaxis": {"type": "log", "title": {"text": "GFlop/s a core"}, "dtick": "D1"},
        }
    )
    ridge = peak / bandwidth
    first = min([kernel.intensity for kernel in kernels] + [ridge]) / 2
    last = max([kernel.intensity for kernel in kernels] + [ridge]) * 2
    figure.add_scatter(
        x=[first, ridge, last], y=[first * bandwidth, peak, peak], mode="lines", line={"color": "#333"}
    )
    figure.add_scatter(
        x=[kernel.intensity for kernel in kernels],
        y=[kernel.reached for kernel in kernels],
        text=[kernel.name for kernel in kernels],
        textposition="bottom center",
        mode="markers+text",
        marker={"size": 10, "color": "#1f6fb4"},
    )
    figure.add_annotation(
        x=0,
        y=1,
        xref="paper",
        yref="paper",
        showarrow=False,
        xanchor="left",
        text=f"triad {bandwidth:.1f} GB/s, multiply-adds {peak:.0f} GFlop/s a core, two at once",
    )
    return figure
