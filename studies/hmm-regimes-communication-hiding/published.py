"""Numbers of the paper by method, from published.toml."""

from __future__ import annotations

from pathlib import Path

from haloscope.reproduce.study import read_study

METHODS = ("fixed", "dynamic", "test")
_printed = read_study(Path(__file__).resolve().parent).published
_VALUES = {name: float(text) for group in _printed.numbers for name, text in group.values.items()}

# Table 1: mean, deviation (seconds), share of the MatVecs; CG.
TABLE_1 = {
    method: tuple(
        (_VALUES[f"{method} {i}: mean"], _VALUES[f"{method} {i}: std"], _VALUES[f"{method} {i}: share"])
        for i in (1, 2, 3)
    )
    for method in METHODS
}
# Section 4.1: share of MatVecs in the fast regime, percent.
FAST_SHARE = {method: _VALUES[f"{method}: fast regime"] for method in METHODS}
# Section 4.3: largest percentage improvement of S_K, T^max on Anvil; the same for both methods.
LARGEST_GAIN = _VALUES["dynamic: largest gain"]
ANVIL = dict.fromkeys(METHODS[1:], f"up to {LARGEST_GAIN:.0f}")
# Section 4.4: mean T^max of the fast regime on Frontera, percent faster than fixed.
FRONTERA = {method: _VALUES[f"{method}: gain in the fast regime"] for method in METHODS[1:]}
