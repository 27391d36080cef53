"""Times and speeds as people write them: `0.15 us`, `12.5 GB/s`, `100 Gbit/s`; exact."""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = ["cost", "speed", "time"]

_TIMES = {"s": 0, "ms": -3, "us": -6, "µs": -6, "μs": -6, "ns": -9}
_PREFIXES = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12}
_SPEEDS = {f"{prefix}B/s": power for prefix, power in _PREFIXES.items()}
_SPEEDS |= {f"{prefix}bit/s": power for prefix, power in _PREFIXES.items()}
_FORM = re.compile(r"\s*([0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]{1,3})?|\.[0-9]+)\s*([^\s0-9.]\S*)?\s*")

_ZERO = re.compile(r"\s*0+\.?0*(?:[eE][-+]?[0-9]{1,3})?\s*(?:s|ms|us|µs|μs|ns)?\s*")


def time(value: object) -> Decimal:
    """Return seconds, which a number without a unit is. Raises `ValueError`."""
    number, power, _ = _parsed(value, _TIMES, "a time, such as 0.15 us (s, ms, us, ns)")
    return number.scaleb(power)


def cost(value: object) -> Decimal:
    """Return what `time` does, or nothing for `0`. Raises `ValueError`."""
    if not isinstance(value, bool) and _ZERO.fullmatch(str(value)):
        return Decimal()
    return time(value)


def speed(value: object) -> Decimal:
    """Return bytes a second, which a number without a unit is. Raises `ValueError`."""
    number, power, unit = _parsed(value, _SPEEDS, "a speed, such as 12.5 GB/s or 100 Gbit/s")
    return number.scaleb(power) / (8 if unit.endswith("bit/s") else 1)


def _parsed(value: object, units: dict[str, int], wanted: str) -> tuple[Decimal, int, str]:
    # The text of a number from YAML is the shortest that means it: what was written.
    parts = None if isinstance(value, bool) else _FORM.fullmatch(str(value))
    number, unit = (Decimal(parts[1]), parts[2] or "") if parts else (Decimal(), "")
    if not number or unit not in {"", *units}:
        raise ValueError(f"{value!r} is not {wanted}")
    return number, units.get(unit, 0), unit
