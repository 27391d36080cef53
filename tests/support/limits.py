"""The limits of tests. They end what hangs and decide nothing: no test comes near them."""

from __future__ import annotations

# Seconds. pytest's own limit for a whole test, `timeout` in pyproject.toml, is three times as long.
HANG = 300.0
LONG = 12 * HANG  # of a whole test that only `make test-long` runs
