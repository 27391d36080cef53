"""Numbers and claims of the part `patterns`, from its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orac
import polars as pl
from speeds import PUBLISHED

from haloscope.predict.simulate import load_platform
from haloscope.reproduce.study import Reproduced, Tested, write_reproduced

Tables = Mapping[str, pl.DataFrame]
BENCHMARK = PUBLISHED[-1] * 1e-6  # Gbit/s, the highest speed of Table 2
_SHARES = {
    "2 processes: communication": (2, "both"),
    "28 processes: point-to-point": (28, "p2p"),
    "28 processes: collectives": (28, "collective"),
    "392 processes: point-to-point": (392, "p2p"),
    "392 processes: collectives": (392, "collective"),
    "392 processes: communication": (392, "both"),
}


def write_numbers(tables: Tables, claims: Sequence[Tested]) -> None:
    """Write the numbers and the claims."""
    platform = load_platform(orac.PLATFORM)
    assert platform.topology != "machine"
    partners, speeds = tables["partners"].filter(pl.col("ranks") > 2), tables["speeds"]
    by_size = tables["by_size"]["collective"]
    numbers = [
        Reproduced("cores of a node", platform.cores, "simulated"),
        Reproduced("interconnect", float(platform.bandwidth) * 8e-9, "simulated"),
        Reproduced("neighbours, least", _least(partners["partners_least"]), "counted"),
        Reproduced("neighbours, most", _most(partners["partners_most"]), "counted"),
        *(_share(tables["shares"], name, ranks, kind) for name, (ranks, kind) in _SHARES.items()),
        Reproduced(
            "392 processes, all problem sizes: collectives",
            100 * _mean(by_size),
            "simulated",
            100 * _least(by_size),
            100 * _most(by_size),
            "; ".join(
                f"{100 * share:.3g} % with {edge:g}³ points per process"
                for edge, share in tables["by_size"].select("nx", "collective").iter_rows()
            )
            + ": computing grows with the points, a sum does not",
        ),
        Reproduced(
            "collectives of a process",
            None,
            "counted",
            why="555 calls of 8 bytes, a number that follows from that of the iterations, which HPCG chooses "
            "by time; cg gets it as an option",
        ),
        Reproduced(
            "2 processes: average speed",
            _at(speeds, 2, "gbit_s"),
            "simulated",
            why="the time of a message includes its delay; the fastest has "
            f"{_at(speeds, 2, 'fastest_gbit_s'):.3g} Gbit/s",
        ),
    ]
    write_reproduced("patterns", numbers, claims)


def _share(shares: pl.DataFrame, name: str, ranks: int, kind: str) -> Reproduced:
    by_kind = {row["operations"]: row for row in shares.filter(ranks=ranks).to_dicts()}
    row, both = by_kind[kind], by_kind["both"]
    why = f"{row['alike']:.3g} % without delays"
    if kind == "both":
        needed = 100 / (100 - row["published"])
        why += (
            "; if all of the published share is waiting for the slowest rank, it computes "
            f"{needed:.4g} times as long as the mean"
        )
    else:
        per_second = [row[column] / (100 - both[column]) for column in ("published", "delayed")]
        why += "; per second of computing {:.2g} s in the paper, {:.2g} s here".format(*per_second)
    if ranks <= orac.CORES_OF_A_PROCESSOR * 2:
        why += "; the delays were measured between nodes, and these processes share one"
    return Reproduced(name, row["delayed"], "simulated", row["delayed_low"], row["delayed_high"], why)


def test_claims(tables: Tables, edge: int) -> list[Tested]:
    """Return the claims, tested on the tables."""
    shares, partners, speeds, by_size = (tables[name] for name in ("shares", "partners", "speeds", "by_size"))
    both = shares.filter(operations="both").sort("ranks")
    values = both["delayed"].to_list()
    p2p, collective = (shares.filter(operations=kind).sort("ranks") for kind in ("p2p", "collective"))
    ratios = (collective["delayed"] / p2p["delayed"]).to_list()
    ranks, most = both["ranks"].to_list(), int(_most(both["ranks"]))
    listed = ", ".join(f"{value:.3g} % on {number}" for value, number in zip(values, ranks, strict=True))
    by_class = tables["classes"].filter(pl.col("run_ranks") == most)["speed"].to_list()
    fractions = partners.sort("ranks")["over_10000"].to_list()
    communicating = 100 * (by_size["p2p"] + by_size["collective"])
    rate = _at(speeds, 2, "gbit_s")
    points = [edge**3 * number for number in (ranks[0], most)]
    found = {
        "communication grows": (values == sorted(values), listed),
        "mostly computing on few processes": (
            values[0] < 50,
            f"{values[0]:.3g} % of communication on {ranks[0]}",
        ),
        "communication dominates": (values[-1] > 50, f"{values[-1]:.3g} % on {most}"),
        "collectives equal point-to-point": (
            all(2 / 3 <= ratio <= 1.5 for ratio in ratios[1:]),
            "collectives over point-to-point: "
            + ", ".join(f"{ratio:.2f} on {number}" for ratio, number in zip(ratios, ranks, strict=True)),
        ),
        "near neighbours": (
            _most(partners["partners_most"]) <= 26,
            f"{_least(partners['partners_least']):.0f} to {_most(partners['partners_most']):.0f} partners",
        ),
        "large messages dominate": (
            all(part > 0.5 for part in fractions[:2]),
            f"{100 * fractions[0]:.0f} % on {ranks[0]}, {100 * fractions[1]:.0f} % on {ranks[1]} processes",
        ),
        "more messages": (
            partners.sort("ranks")["messages"].is_sorted(),
            f"{_least(partners['messages']):.0f} to {_most(partners['messages']):.0f}",
        ),
        "smaller messages": (
            partners.filter(pl.col("ranks") > 2)["bytes"].n_unique() > 1,
            "; ".join(
                f"{number} processes: {len(sizes.split())} sizes, mean {mean:.0f} bytes"
                for number, sizes, mean in partners.filter(pl.col("ranks") > 2)
                .sort("ranks")
                .select("ranks", "bytes", "mean_message")
                .iter_rows()
            ),
        ),
        "strong scaling": (
            points[0] == points[1],
            f"sizes of {edge}³ points per process on each number of processes: {points[0]:.3g} points in all "
            f"on {ranks[0]}, {points[1]:.3g} on {most}",
        ),
        "small messages are slow": (
            by_class == sorted(by_class),
            ", ".join(f"{8e-9 * value:.3g}" for value in by_class) + f" Gbit/s by size class on {most}",
        ),
        "throughput falls": (
            speeds.sort("ranks")["gbit_s"].is_sorted(descending=True),
            ", ".join(
                f"{rate:.3g} Gbit/s on {number}"
                for number, rate in speeds.select("ranks", "gbit_s").iter_rows()
            ),
        ),
        "far below the network": (
            rate < 0.01 * BENCHMARK,
            f"{rate:.3g} Gbit/s; 1 % of the benchmark is {0.01 * BENCHMARK:.2g}",
        ),
        "constant share": (
            _most(communicating) <= 1.5 * _least(communicating),
            ", ".join(f"{value:.3g} %" for value in communicating)
            + f" with {', '.join(f'{edge:g}³' for edge in by_size['nx'])} points per process",
        ),
        "equal at all sizes": (
            all(2 / 3 <= ratio <= 1.5 for ratio in by_size["collective"] / by_size["p2p"]),
            "collectives over point-to-point: "
            + ", ".join(
                f"{collective / p2p:.2f} with {edge:g}³ points"
                for edge, p2p, collective in by_size.select("nx", "p2p", "collective").iter_rows()
            ),
        ),
        "one collective size": (
            partners["collective_bytes"].n_unique() == 1,
            f"bytes of collectives: {' and '.join(partners['collective_bytes'].unique())}",
        ),
    }
    return [Tested(name, holds, evidence, "simulated") for name, (holds, evidence) in found.items()]


def _at(frame: pl.DataFrame, ranks: int, column: str) -> float:
    return float(frame.filter(pl.col("ranks") == ranks)[column].item())


def _least(values: pl.Series) -> float:
    return float(values.to_numpy().min())


def _most(values: pl.Series) -> float:
    return float(values.to_numpy().max())


def _mean(values: pl.Series) -> float:
    return float(values.to_numpy().mean())
