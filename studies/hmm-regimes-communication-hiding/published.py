"""Numbers of the paper."""

from __future__ import annotations

# Table 1: mean, deviation (seconds), share of the MatVecs; CG.
TABLE_1 = {
    "fixed": ((1.79e-3, 5.89e-5, 0.33), (1.89e-3, 5.49e-5, 0.32), (2.89e-3, 6.19e-3, 0.35)),
    "dynamic": ((1.75e-3, 5.12e-5, 0.34), (1.87e-3, 5.22e-5, 0.31), (2.76e-3, 6.00e-3, 0.35)),
    "test": ((1.78e-3, 4.30e-5, 0.35), (1.90e-3, 5.61e-5, 0.32), (2.72e-3, 4.28e-3, 0.33)),
}
# Section 4.1: share of MatVecs in the fast regime, percent.
FAST_SHARE = {"fixed": 47, "dynamic": 71, "test": 75}
# Section 4.3: largest percentage improvement of S_K, T^max on Anvil.
ANVIL = {"dynamic": "up to 10", "test": "up to 10"}
# Section 4.4: mean T^max of the fast regime on Frontera, percent faster than fixed.
FRONTERA = {"dynamic": 3.5, "test": 4.2}
