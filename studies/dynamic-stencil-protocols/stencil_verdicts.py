"""What the exchanges on emulated nodes reproduce: numbers and claims, from the tables of nodes.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from drawn import Interval, all_of, any_of, describe_cores, is_larger, judged

from haloscope.hide import SHM_SETTINGS
from haloscope.reproduce.study import Reproduced, Tested

SMALL, LARGE = 262144, 2097152
# By number of nodes and size. Which numbers of nodes the overlaps belong to is not printed.
RATIOS = {(4, "2 MiB"): 1.3}
OVERLAPS = {(4, "2 MiB"): 67.0, (16, "2 MiB"): 94.0}
LESS = {(4, "256 KiB"): 32.0, (4, "2 MiB"): 38.0, (16, "2 MiB"): 50.0}
ALONE, SCHEME = "MPI alone", "shm library"
BEFORE, AFTER = "before computing", "after computing"
_NO_NODES = "nothing was measured on this number of nodes"
_DISTURBED = "the total is below the ideal, which it includes: other programs disturbed the measurement"
_ZERO, _ONE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
Row = dict[str, Any]


def numbers(halo: pl.DataFrame, overlap: pl.DataFrame) -> list[Reproduced]:
    """Return the numbers of the slides."""
    scheme = _scheme(overlap)
    fewest, most = (pick(count for count, _ in scheme) for pick in (min, max))
    (chunk,) = (setting for setting in SHM_SETTINGS if setting.name == "chunk")
    ratios = _rows(halo, of=ALONE, nodes=4, bytes=LARGE)
    return [
        Reproduced(
            "first chunk",
            float(str(chunk.default)),
            "counted",
            why=f"larger chunks make first messages faster (docs, how the shm library copies);"
            f" {chunk.variable}=1024 is the slides' value",
        ),
        _number("total over inter-only, 4 nodes", ratios[0] if ratios else None, "ratio", _most_ratio),
        *(
            _number(f"overlap, 2 MB, {name} nodes", scheme.get((count, LARGE)), "overlap", describe_cores)
            for name, count in (("fewest", fewest), ("most", most))
        ),
        *(
            _number(
                f"less latency, {name}, 4 nodes",
                scheme.get((4, size)),
                "less",
                lambda row: _most_gain(row, halo, overlap),
            )
            for name, size in (("256 KB", SMALL), ("2 MB", LARGE))
        ),
        Reproduced(
            "less latency, 2 MB, 16 nodes",
            None,
            "emulated nodes",
            why=f"at most {most} nodes are emulated; on {most}: {_text(scheme[most, LARGE], 'less')} %;"
            f" {_most_gain(scheme[most, LARGE], halo, overlap)}",
        ),
    ]


def _most_ratio(row: Row) -> str:
    """Return the ratio that a total without any overlap has."""
    return (
        f"without any overlap, inter-only and intra-only together are {1 + row['intra'] / row['inter']:.2f}"
    )


def _most_gain(row: Row, halo: pl.DataFrame, overlap: pl.DataFrame) -> str:
    """Return the gain that full overlap would bring over MPI alone, and that of the exchange alone."""
    same = {name: row[name] for name in ("mpi", "nodes", "ranks", "bytes")}
    (bare,) = _rows(overlap, of=ALONE, receives=BEFORE, **same)
    longest = max(bare["communication"], bare["computation"])
    texts = [describe_cores(row), f"full overlap is {100 * (1 - longest / bare['both']):.0f} % less"]
    texts += [f"the exchange alone {_text(one, 'less')} %" for one in _rows(halo, of=SCHEME, **same)]
    return "; ".join(texts)


def claims(halo: pl.DataFrame, overlap: pl.DataFrame) -> list[Tested]:
    """Return the verdicts on the claims of the slides. The tests compare ends of 95 % intervals."""
    scheme = _scheme(overlap)
    counts = sorted({count for count, _ in scheme})
    large = [scheme[count, LARGE] for count in counts]
    four = [scheme[key] for key in ((4, SMALL), (4, LARGE)) if key in scheme]
    bare = _rows(halo, of=ALONE)
    late = {row["mpi"]: row for row in _rows(overlap, of=ALONE, receives=AFTER, bytes=LARGE)}
    early = {
        mpi: next(
            row
            for row in _rows(overlap, of=ALONE, receives=BEFORE, bytes=LARGE, mpi=mpi)
            if (row["nodes"], row["ranks"]) == (other["nodes"], other["ranks"])
        )
        for mpi, other in late.items()
    }
    own = {row["mpi"]: row for row in _rows(overlap, of=SCHEME, receives=AFTER, bytes=LARGE)}
    return [
        _tested(
            "total is above the ideal",
            any_of(is_larger(_interval(row, "ratio"), _ONE) for row in bare),
            [f"{_where(row)}: total / ideal {_text(row, 'ratio', 2)}" for row in bare],
            bare,
        ),
        _tested(
            "inter-node dominates",
            all(row["inter"] > 2 * row["intra"] for row in bare),
            [f"{_where(row)}: inter-only {row['inter'] / row['intra']:.1f} times intra-only" for row in bare],
            bare,
        ),
        _tested(
            "rendezvous misses overlap",
            any_of(_is_more(early[mpi], row, "overlap") for mpi, row in late.items()),
            [
                f"{mpi}, 2 MiB: overlap {_text(early[mpi], 'overlap')} % with receives {BEFORE}, "
                f"{_text(row, 'overlap')} % {AFTER}"
                for mpi, row in late.items()
            ],
            list(late.values()),
        ),
        _tested(
            "library buffers overlap",
            all_of(_is_more(row, late[mpi], "overlap") for mpi, row in own.items()),
            [
                f"{mpi}, 2 MiB, receives {AFTER}: overlap {_text(row, 'overlap')} %, "
                f"by MPI alone {_text(late[mpi], 'overlap')} %"
                for mpi, row in own.items()
            ],
            list(own.values()),
        ),
        _tested(
            "overlap grows",
            _is_more(large[-1], large[0], "overlap"),
            [f"{row['nodes']} nodes: {_text(row, 'overlap')} %" for row in large],
            large,
        ),
        _tested(
            "latency is better",
            all_of(is_larger(_interval(row, "less"), _ZERO) for row in four),
            [f"{_where(row)}: {_text(row, 'less')} % less" for row in four],
            four,
        ),
        _tested(
            "gain grows",
            _is_more(large[-1], large[0], "less"),
            [f"{row['nodes']} nodes: {_text(row, 'less')} % less" for row in large],
            large,
        ),
    ]


def _rows(table: pl.DataFrame, **values: Any) -> list[Row]:
    """Return the rows with these values."""
    return table.filter(*(pl.col(name) == value for name, value in values.items())).to_dicts()


def _scheme(overlap: pl.DataFrame) -> dict[tuple[int, int], Row]:
    """Return the rows of the proposed scheme by nodes and size, with the most ranks per node."""
    rows = sorted(_rows(overlap, of=SCHEME, receives=BEFORE), key=lambda row: int(row["ranks"]))
    return {(row["nodes"], row["bytes"]): row for row in rows}


def _number(name: str, row: Row | None, column: str, reason: Callable[[Row], str]) -> Reproduced:
    if row is None:
        return Reproduced(name, None, "emulated nodes", why=_NO_NODES)
    middle, low, high = _interval(row, column)
    if column == "ratio" and high < 1:
        return Reproduced(name, None, "emulated nodes", why=f"{_DISTURBED} ({_text(row, 'ratio', 2)})")
    return Reproduced(name, middle, "emulated nodes", low, high, why=f"{_where(row)}; {reason(row)}")


def _is_more(first: Row, second: Row, column: str) -> bool | None:
    return is_larger(_interval(first, column), _interval(second, column))


def _tested(name: str, holds: bool | None, evidence: list[str], rows: list[Row]) -> Tested:
    if not rows:
        return Tested(name, None, _NO_NODES, "emulated nodes")
    ranks = max(int(row["ranks"]) for row in rows)
    return Tested(name, *judged(ranks, holds, "; ".join(evidence)), "emulated nodes")


def _interval(row: Row, column: str) -> Interval:
    middle = row[column] if column in row else row[f"{column}_percent"]
    return float(middle), float(row[f"{column}_from"]), float(row[f"{column}_to"])


def _text(row: Row, column: str, decimals: int = 0) -> str:
    middle, low, high = (f"{value:.{decimals}f}" for value in _interval(row, column))
    return f"{middle} [{low}, {high}]"


def _where(row: Row) -> str:
    return f"{row['mpi']}, {row['nodes']} nodes, {row['bytes'] >> 10} KiB"
