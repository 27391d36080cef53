"""miniAMR's pattern within a node: communication by MPI alone and with the shm library.

    .venv/bin/python studies/dynamic-stencil-protocols/miniamr.py DIR

Runs amr over grid sizes on two ranks, and over numbers of processes with one grid size. In each round, MPI
and the protocols take turns. Writes `miniamr.csv`, `miniamr.json` and the verdicts to DIR.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl
from common import ENVIRONMENT, HALOSCOPE, draw, here, into
from drawn import Interval, any_of, describe_cores, interval, is_larger, judged, lines_with_intervals, slides

from haloscope.base.launcher import report_toolchain
from haloscope.markov.figures import Figure, Panel, axis
from haloscope.reproduce.study import Reproduced, Tested, write_figures, write_reproduced

PROTOCOLS = ("dynamic", "get", "steal")
COPIERS = {"GET": 1, "COOP": 2, "STEAL": 4}  # at most, of four ranks
CELLS = (16, 24, 32, 48)  # along each edge of a block, as in the slides
GRIDS = {2: "2 1 1", 4: "2 2 1", 8: "2 2 2"}  # of ranks
FIXED = 32  # cells of the slides' figure over numbers of processes
ROUNDS = 7
RUN = "--num_refine 0 --num_vars 40 --num_tsteps 2 --stages_per_ts 20 --checksum_freq 0"
SECONDS = re.compile(r"^time .* communication ([0-9.]+) s", re.MULTILINE)
Row = dict[str, Any]


def communication(amr: str, ranks: int, cells: int, protocol: str) -> float:
    """Return the seconds of communication, with packing and unpacking, mean over ranks."""
    words = [amr, *RUN.split()]
    for side, count in zip("xyz", GRIDS[ranks].split(), strict=True):
        words += [f"--n{side}", str(cells), f"--np{side}", count]
    shm = [str(HALOSCOPE), "shm", "--quiet", "--"] if protocol != "MPI" else []
    command = [*shm, str(report_toolchain().launcher), "-n", str(ranks), *words]
    done = subprocess.run(
        command,
        env={**ENVIRONMENT, "HALOSCOPE_SHM_PROTOCOL": protocol},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = SECONDS.search(done.stdout)
    if found is None:
        sys.exit(f"amr printed no time of communication: {done.stdout[-200:]}")
    return float(found[1])


def copied() -> pl.DataFrame:
    """Return the shm library's record of a run on four ranks, in which it copies all large messages."""
    words = [here("amr"), *RUN.split(), "--npx", "2", "--npy", "2", "--npz", "1"]
    for side in "xyz":
        words += [f"--n{side}", str(FIXED)]
    shm = [str(HALOSCOPE), "shm", "--quiet", "-o", "copied.csv", "--"]
    subprocess.run(
        [*shm, str(report_toolchain().launcher), "-n", "4", *words],
        env={**ENVIRONMENT, "HALOSCOPE_SHM_MEASURE": "off"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return pl.read_csv("copied.csv")


def protocols(record: pl.DataFrame) -> Tested:
    """Return whether messages with one copier are GET, and those with two COOP."""
    sums = (
        record.filter(pl.col("protocol").is_in(list(COPIERS)))
        .group_by("protocol")
        .agg(pl.col("messages", "helpers").sum())
    )
    rows = sorted(sums.rows(), key=lambda row: list(COPIERS).index(row[0]))
    shown = ", ".join(
        f"{name} {messages} messages of {1 + helpers / messages:.2f} copiers"
        for name, messages, helpers in rows
    )
    holds = all(helpers <= (COPIERS[name] - 1) * messages for name, messages, helpers in rows)
    return Tested(
        "protocol by copiers", holds if rows else None, f"4 ranks: {shown or 'no copies'}", "counted"
    )


def measured() -> pl.DataFrame:
    """Return a row per number of ranks, grid and protocol, with gains from pairs of a round."""
    amr = here("amr")
    cases = [(2, cells) for cells in CELLS] + [(ranks, FIXED) for ranks in GRIDS if ranks > 2]
    times = pl.DataFrame(
        [
            {
                "ranks": ranks,
                "cells": cells,
                "protocol": protocol,
                "seconds": communication(amr, ranks, cells, protocol),
            }
            for _ in range(ROUNDS)
            for ranks, cells in cases
            for protocol in ("MPI", *(PROTOCOLS if (ranks, cells) == (2, FIXED) else PROTOCOLS[:1]))
        ]
    )
    rows: list[Row] = []
    for (ranks, cells, protocol), group in times.group_by("ranks", "cells", "protocol", maintain_order=True):
        seconds = group["seconds"]
        bare = times.filter(pl.col("ranks") == ranks, pl.col("cells") == cells, pl.col("protocol") == "MPI")
        less = interval((100 * (1 - seconds / bare["seconds"])).to_numpy())
        gain = (None, None, None) if protocol == "MPI" else less
        rows.append(
            {"ranks": ranks, "cells": cells, "bytes": 8 * 40 * int(cells) ** 2, "protocol": protocol}
            | {"seconds": seconds.median(), "least": seconds.min(), "most": seconds.max()}
            | dict(zip(("less_percent", "less_from", "less_to"), gain, strict=True))
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def figure(table: pl.DataFrame) -> Figure:
    """Return a panel over grids and one over numbers of processes, with the slides' largest gains."""
    gains = table.filter(pl.col("less_percent").is_not_null())
    ends = ("less_from", "less_to")
    grids, processes = gains.filter(pl.col("ranks") == 2), gains.filter(pl.col("cells") == FIXED)
    drawn = [
        Panel(
            f"{title}; slides: up to {most} %",
            [
                *lines_with_intervals(some, column, "less_percent", ends, "protocol", PROTOCOLS),
                *slides([(place, most)]),
            ],
            span,
        )
        for title, some, column, most, place, span in (
            ("2 processes, over cells", grids, "cells", 37.0, CELLS[-1], (12, 52)),
            (f"{FIXED}³ cells, over processes", processes, "ranks", 19.4, max(GRIDS), (1, 9)),
        )
    ]
    caption = (
        f"Median of {ROUNDS} pairs of alternating runs, 95 % intervals. Slides: results with miniAMR."
        " They do not print where the gain is largest, so stars are at the right end."
    )
    return draw(drawn, axis("cells along an edge; processes"), axis("less time, %"), caption, columns=2)


def numbers(table: pl.DataFrame) -> list[Reproduced]:
    """Return the largest gains, of runs whose ranks share no cores."""
    found = []
    for name, rows in _dynamic(table).items():
        alone = [row for row in rows if judged(row["ranks"], True, "")[0]]
        shared = [
            f"{row['ranks']} ranks, {row['cells']}³ cells: {_gain(row)}" for row in rows if row not in alone
        ]
        texts = [f"sharing cores, {'; '.join(shared)}"] if shared else []
        if not alone:
            found.append(Reproduced(name, None, "measured", why=texts[0]))
            continue
        best = max(alone, key=lambda row: float(row["less_percent"]))
        here = f"{best['cells']}³ cells, {describe_cores(best)}; the slides have 128 processes"
        middle, low, high = _ends(best)
        found.append(Reproduced(name, middle, "measured", low, high, "; ".join([here, *texts])))
    return found


def claims(table: pl.DataFrame, record: pl.DataFrame) -> list[Tested]:
    """Return the verdicts on the claims; `record` is the shm library's."""
    by_protocol = {row["protocol"]: row for row in table.filter(ranks=2, cells=FIXED).to_dicts()}
    get, steal = by_protocol["get"], by_protocol["steal"]
    overheads = f"2 ranks, no rank is idle: GET {_gain(get)}, STEAL {_gain(steal)} than MPI"
    grids, processes = _dynamic(table).values()
    return [
        protocols(record),
        Tested("stealing has overheads", *judged(2, is_larger(_ends(get), _ends(steal)), overheads)),
        Tested("static chunks", None, "a thief needs an idle core, and the ranks use all cores here"),
        _faster("faster over grid sizes", grids),
        _faster("faster over numbers of processes", processes),
    ]


def _dynamic(table: pl.DataFrame) -> dict[str, list[Row]]:
    """Return the rows over grids and over processes, by the number of the slides."""
    rows = table.filter(protocol="dynamic")
    return {
        "less time, over grid sizes, most": rows.filter(ranks=2).to_dicts(),
        "less time, over numbers of processes, most": rows.filter(cells=FIXED).to_dicts(),
    }


def _faster(name: str, rows: list[Row]) -> Tested:
    evidence = "; ".join(f"{row['ranks']} ranks, {row['cells']}³ cells: {_gain(row)}" for row in rows)
    ranks = max(int(row["ranks"]) for row in rows)
    return Tested(name, *judged(ranks, any_of(is_larger(_ends(row), (0, 0, 0)) for row in rows), evidence))


def _gain(row: Row) -> str:
    return "{:.0f} [{:.0f}, {:.0f}] % less".format(*_ends(row))


def _ends(row: Row) -> Interval:
    return float(row["less_percent"]), float(row["less_from"]), float(row["less_to"])


def main() -> None:
    """Measure, draw, and write the verdicts."""
    table = measured()
    table.write_csv("miniamr.csv", float_precision=4)
    write_figures([figure(table)], Path("miniamr.json"))
    write_reproduced("miniamr", numbers(table), claims(table, copied()))


if __name__ == "__main__":
    into()
    main()
