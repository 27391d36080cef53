"""The colours of all figures. Scripts of pages get them as `PALETTE`."""

from __future__ import annotations

INK, GREY, PALE, GRID = "#1c2733", "#8a95a0", "#cbd3db", "#e8ecf0"
RED = "#c0392b"
# Okabe and Ito's colours, which nearly all readers can distinguish.
BLUE, ORANGE, GREEN, PINK, YELLOW, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
PURPLE, OLIVE = "#7a6a9e", "#8a6d00"
SERIES = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY)
METHODS = (INK, ORANGE, GREEN, BLUE, PINK, OLIVE, PURPLE)  # the first one is the baseline's
FAST_TO_SLOW = ("#31408f", "#2e78b7", "#2fa4b5", "#7fb069", YELLOW, "#c23b22", "#7a1f5c")
# What a process does with its time.
KINDS = {
    "compute": ("compute", PALE),
    "waiting": ("waiting in MPI", ORANGE),
    "p2p": ("point-to-point", BLUE),
    "coll": ("collective", YELLOW),
    "rma": ("one-sided", PURPLE),
    "io": ("files", "#5d8a4a"),
    "other": ("other MPI", "#7f8b96"),
}
# Scales of Plotly: of amounts, of times, and from one side to the other.
BLUES = [[0, "#eaf3f9"], [0.25, "#a9cfe5"], [0.5, "#5a9fc9"], [0.75, "#1f6a9f"], [1, "#0a2f51"]]
TIMES = [[0, "#f3f6f9"], [0.3, "#f2d9a0"], [0.6, "#e08a3c"], [0.85, "#b3301f"], [1, "#5a0f1c"]]
SHARES = [[0, ORANGE], [0.5, "#ffffff"], [1, BLUE]]
# In the dark theme; other colours are visible on both.
_DARK = {
    "#fff": "#1d242b",
    INK: "#e3e8ed",
    BLUE: "#3d9bd9",
    GRID: "#333d47",
    PALE: "#5d6873",
    RED: "#ff8f80",
    "#eaf3f9": "#22303c",
    "#a9cfe5": "#1f5580",
    "#5a9fc9": "#3f88bd",
    "#1f6a9f": "#83bde2",
    "#0a2f51": "#e3f2fc",
    "#31408f": "#8f9df0",
    "#7a1f5c": "#d273b0",
}


def for_scripts() -> dict[str, object]:
    """Return the colours by name, for JSON."""
    return {
        "ink": INK,
        "grey": GREY,
        "pale": PALE,
        "grid": GRID,
        "red": RED,
        "blue": BLUE,
        "orange": ORANGE,
        "purple": PURPLE,
        "light": BLUES[1][1],
        "blues": BLUES,
        "dark": _DARK,
        "kinds": {kind: {"name": name, "colour": colour} for kind, (name, colour) in KINDS.items()},
    }
