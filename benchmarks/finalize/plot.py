"""Picture of MPI_Finalize's time and message steps over the number of ranks, as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log2, log10

from common import Estimate

_WIDTH, _HEIGHT, _LEFT, _TOP = 330, 220, 60, 30
_GREY = "#777"


@dataclass(frozen=True)
class Curve:
    """Times by the number of ranks."""

    name: str
    color: str
    points: Sequence[tuple[int, Estimate]]


@dataclass(frozen=True)
class _Panel:
    left: int
    title: str
    sizes: Sequence[int]
    ticks: Sequence[float]
    scale: Callable[[float], float]

    def x(self, ranks: int) -> float:
        first, last = log2(self.sizes[0]), log2(self.sizes[-1])
        return self.left + _WIDTH * (log2(ranks) - first) / max(last - first, 1)

    def y(self, value: float) -> float:
        low, high = self.scale(self.ticks[0]), self.scale(self.ticks[-1])
        return _TOP + _HEIGHT * (1 - (self.scale(max(value, self.ticks[0])) - low) / (high - low))

    def frame(self) -> Iterator[str]:
        bottom, right = _TOP + _HEIGHT, self.left + _WIDTH
        yield f'<text x="{self.left}" y="{_TOP - 12}">{self.title}</text>'
        for ranks in self.sizes:
            yield _text(self.x(ranks), bottom + 18, str(ranks), "middle")
        yield _text((self.left + right) / 2, bottom + 36, "ranks", "middle")
        for tick in self.ticks:
            y = self.y(tick)
            yield f'<path d="M{self.left} {y:.1f}H{right}" stroke="{_GREY}" stroke-opacity=".3"/>'
            yield _text(self.left - 6, y + 4, f"{tick:g}", "end")

    def line(self, points: Sequence[tuple[int, float]], color: str) -> Iterator[str]:
        path = " ".join(f"{self.x(n):.1f},{self.y(value):.1f}" for n, value in points)
        yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>'
        for n, value in points:
            yield f'<circle cx="{self.x(n):.1f}" cy="{self.y(value):.1f}" r="3" fill="{color}"/>'


def figure(curves: Sequence[Curve], steps: Sequence[tuple[int, int]]) -> str:
    """Return two panels: times with their intervals, and steps."""
    sizes = [ranks for ranks, _ in steps]
    most = max(point.high for curve in curves for _, point in curve.points)
    decades = [10.0**k for k in range(6) if k == 0 or 10 ** (k - 1) < most]
    panel = _Panel(_LEFT, "longest time in MPI_Finalize, ms", sizes, decades, log10)
    parts = list(panel.frame())
    for row, curve in enumerate(curves):
        parts += panel.line([(n, point.median) for n, point in curve.points], curve.color)
        for n, point in curve.points:
            x, low, high = panel.x(n), panel.y(point.low), panel.y(point.high)
            parts.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{curve.color}"/>')
        y = _TOP + 16 + 18 * row
        parts.append(f'<text x="{_LEFT + 10}" y="{y}" fill="{curve.color}">{curve.name}</text>')
    ticks = [50.0 * k for k in range(2 + max(count for _, count in steps) // 50)]
    second = _Panel(2 * _LEFT + _WIDTH + 10, "messages of rank 0, in turn", sizes, ticks, float)
    parts += [*second.frame(), *second.line([(n, float(count)) for n, count in steps], "#b3261e")]
    size = f"{2 * (_LEFT + _WIDTH) + 30} {_TOP + _HEIGHT + 46}"
    style = "font-family:sans-serif;font-size:13px;background:#fff"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" style="{style}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>", ""])


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_GREY}">{text}</text>'
