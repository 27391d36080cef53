"""The one limit of waits in tests. It ends what hangs and decides nothing: no test comes near it."""

from __future__ import annotations

# Seconds. pytest's own limit for a whole test, `timeout` in pyproject.toml, is three times as long.
HANG = 300.0
