"""Numbers with units, formatted for people and parsed from their text."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal

UNKNOWN = "–"
_SIZES = ((1e18, "EB"), (1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_COUNTS = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_MOST_RANGES = 8
# A size or count below this is shown to the last digit.
_EXACT_BELOW = {"bytes": 10_000, "count": 10_000_000}


def bytes_text(value: float | None) -> str:
    """Return 1342177280 as `1.34 GB`; a whole number below 10 000 exactly."""
    if value is None:
        return UNKNOWN
    if abs(value) < _EXACT_BELOW["bytes"] and value == int(value):
        return f"{int(value)} B"
    return _scale(value, _SIZES)


def count_text(value: float | None) -> str:
    """Return 184320 as `184320`, 255000000 as `255 M`."""
    if value is None:
        return UNKNOWN
    if abs(value) < _EXACT_BELOW["count"]:
        return _plain(value)
    return _scale(value, _COUNTS)


def time_text(seconds: float | None) -> str:
    """Return 0.0123 as `12.3 ms`."""
    if seconds is None:
        return UNKNOWN
    if seconds == 0:
        return "0 s"
    return _scale(seconds, _TIMES)


def duration_text(seconds: float | None) -> str:
    """Return 11520 as `3 h 12 min`, 75 as `1 min 15 s`; below one minute what `time_text` returns."""
    if seconds is None:
        return UNKNOWN
    if abs(seconds) < 59.95:
        return time_text(seconds)
    sign, whole = ("-" if seconds < 0 else ""), round(abs(seconds))
    if whole < 3600:
        large, small, units = *divmod(whole, 60), ("min", "s")
    elif whole < 86400 - 30:
        large, small, units = *divmod(round(whole / 60), 60), ("h", "min")
    else:
        large, small, units = *divmod(round(whole / 3600), 24), ("d", "h")
    return f"{sign}{large} {units[0]}" + (f" {small} {units[1]}" if small else "")


def noun_text(count: float | None, noun: str, plural: str | None = None) -> str:
    """Return `1 rank` for 1 and "rank", `4 ranks` for 4; `plural` is for words that take no "s"."""
    return f"{count_text(count)} {noun if count == 1 else plural or noun + 's'}"


def percent_text(part: float | None, whole: float | None) -> str:
    """Return the share of `part` in `whole`: `12.3 %`."""
    if part is None or not whole:
        return UNKNOWN
    return f"{round(100 * part / whole, 1) + 0.0:.1f} %"  # no "-0.0"


def list_text(words: Sequence[str]) -> str:
    """Return words as in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def ranks_text(ranks: Sequence[int]) -> str:
    """Return [0, 1, 2, 5] as `ranks 0-2, 5`; long lists are cut and end with the number of ranks."""
    if not ranks:
        return "no ranks"
    breaks = [at for at in range(1, len(ranks)) if ranks[at] != ranks[at - 1] + 1]
    ends = zip([0, *breaks], [*breaks, len(ranks)], strict=True)
    ranges = [f"{ranks[a]}-{ranks[b - 1]}" if b - a > 1 else f"{ranks[a]}" for a, b in ends]
    shown = ", ".join(ranges[:_MOST_RANGES])
    more = f" … ({len(ranks)} in all)" if len(ranges) > _MOST_RANGES else ""
    return f"rank{'' if len(ranks) == 1 else 's'} {shown}{more}"


def moment_text(seconds: float | None) -> str:
    """Return seconds since 1970 as local time: `2026-01-01 00:00:00 +0000`."""
    if seconds is None:
        return UNKNOWN
    try:
        moment = datetime.datetime.fromtimestamp(seconds).astimezone()
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s"
    return moment.strftime("%Y-%m-%d %H:%M:%S %z")


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.1f}"


def _scale(value: float, units: tuple[tuple[float, str], ...]) -> str:
    # Round first: 999.9996 ms is 1 s, not 1000 ms.
    rounded = float(f"{value:.3g}")
    scale, unit = next((pair for pair in units if abs(rounded) >= pair[0]), units[-1])
    shown = rounded / scale
    if abs(shown) >= 1000:  # of the largest unit: without an exponent
        return f"{value / scale:.0f} {unit}"
    return f"{shown:#.3g}".rstrip(".") + f" {unit}"


_TIME_POWERS = {"s": 0, "ms": -3, "us": -6, "µs": -6, "μs": -6, "ns": -9}
_PREFIXES = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12}
_SPEED_POWERS = {f"{prefix}B/s": power for prefix, power in _PREFIXES.items()}
_SPEED_POWERS |= {f"{prefix}bit/s": power for prefix, power in _PREFIXES.items()}
_FORM = re.compile(r"\s*([0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]{1,3})?|\.[0-9]+)\s*([^\s0-9.]\S*)?\s*")

_ZERO = re.compile(r"\s*0+\.?0*(?:[eE][-+]?[0-9]{1,3})?\s*(?:s|ms|us|µs|μs|ns)?\s*")


def time(value: object) -> Decimal:
    """Return a time in seconds; a number without a unit is seconds. Raises `ValueError`."""
    number, power, _ = _parse(value, _TIME_POWERS, "a time, such as 0.15 us (s, ms, us, ns)")
    return number.scaleb(power)


def cost(value: object) -> Decimal:
    """Return a time as `time` does; `0` is allowed. Raises `ValueError`."""
    if not isinstance(value, bool) and _ZERO.fullmatch(str(value)):
        return Decimal()
    return time(value)


def speed(value: object) -> Decimal:
    """Return a speed in bytes per second; a number without a unit is that. Raises `ValueError`."""
    number, power, unit = _parse(value, _SPEED_POWERS, "a speed, such as 12.5 GB/s or 100 Gbit/s")
    return number.scaleb(power) / (8 if unit.endswith("bit/s") else 1)


def _parse(value: object, units: dict[str, int], wanted: str) -> tuple[Decimal, int, str]:
    # YAML's number as text is the shortest form, which is what the user wrote.
    parts = None if isinstance(value, bool) else _FORM.fullmatch(str(value))
    number, unit = (Decimal(parts[1]), parts[2] or "") if parts else (Decimal(), "")
    if not number or unit not in {"", *units}:
        raise ValueError(f"{value!r} is not {wanted}")
    return number, units.get(unit, 0), unit
