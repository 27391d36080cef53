"""Picture of the blast as SVG: density over radius at all quadrature points, and the exact solution."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sedov import Blast, Floats

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 300, 60, 20
_FARTHEST, _DENSEST = 1.2, 6.5
_GREY, _BLUE, _RED = "#777", "#1f6fb4", "#c0392b"
_MOST = 4000  # points that are drawn, to limit the size of the file


def figure(radii: Floats, densities: Floats, exact: Blast) -> str:
    """Return the picture of a blast's points and of the exact solution, as a document."""
    inside = np.flatnonzero(radii < _FARTHEST)
    drawn = np.random.default_rng(0).permutation(inside)[:_MOST]
    lines = [*_axes(), *_points(radii[drawn], densities[drawn]), _curve(exact), *_legend(exact)]
    size = f'viewBox="0 0 {_WIDTH + _LEFT + 20} {_HEIGHT + _TOP + 50}"'
    style = 'font-family="sans-serif" font-size="13" fill="#333"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, background, *lines, "</svg>", ""])


def _x(radius: float) -> float:
    return _LEFT + _WIDTH * radius / _FARTHEST


def _y(density: float) -> float:
    return _TOP + _HEIGHT * (1 - density / _DENSEST)


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _axes() -> Iterator[str]:
    for density in range(7):
        line = f'<path d="M{_LEFT} {_y(density):.1f}H{_LEFT + _WIDTH}" stroke="{_GREY}" stroke-opacity=".3"/>'
        yield line + _text(_LEFT - 8, _y(density) + 4, str(density), "end")
    for radius in np.linspace(0, _FARTHEST, 7):
        yield _text(_x(float(radius)), _TOP + _HEIGHT + 18, f"{radius:.1f}")
    yield _text(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 38, "radius")
    middle = _TOP + _HEIGHT / 2
    yield f'<g transform="rotate(-90 20 {middle})">{_text(20, middle, "density")}</g>'


def _points(radii: Floats, densities: Floats) -> Iterator[str]:
    marks = "".join(f"M{_x(r):.1f} {_y(d):.1f}h0" for r, d in zip(radii, densities, strict=True))
    yield (
        f'<path d="{marks}" stroke="{_BLUE}" stroke-width="2.4" stroke-opacity=".5" stroke-linecap="round"/>'
    )


def _curve(exact: Blast) -> str:
    radii, densities = exact.densities()
    shown = radii.searchsorted(np.linspace(0, radii[-1], 200)).clip(max=len(radii) - 1)
    places = [f"{_x(radii[n]):.1f},{_y(densities[n]):.1f}" for n in shown]
    places += [f"{_x(radii[-1]):.1f},{_y(1):.1f}", f"{_x(_FARTHEST):.1f},{_y(1):.1f}"]
    return f'<polyline points="{" ".join(places)}" fill="none" stroke="{_RED}" stroke-width="2"/>'


def _legend(exact: Blast) -> Iterator[str]:
    x, y = _LEFT + 30, _TOP + 30
    yield f'<path d="M{x - 12} {y - 4}h0" stroke="{_BLUE}" stroke-width="7" stroke-linecap="round"/>'
    yield _text(x, y, "hydro, quadrature points", "start")
    yield f'<path d="M{x - 20} {y + 16}h16" stroke="{_RED}" stroke-width="2"/>'
    yield _text(x, y + 20, f"Sedov's solution, shock at {exact.radius:.3f}", "start")
