"""Store the results of smpi_sweep.py: simulated.parquet, and a machine model for each platform.

    python keep.py DIRECTORY POINTS.csv…
    python keep.py FILE.parquet POINTS.csv…    # points alone, such as unseen.parquet
    python keep.py DIRECTORY SWEEP.jsonl    # of bench collective: medians, into nodes.parquet

A machine has a level for each power of two of ranks. A level has the longest latency of a message from one
half of the ranks to the other, its bandwidth, and the bandwidth of simultaneous messages of all ranks of a
half (`shared`), if this is less. It contains no other messages, and these are measured in seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from haloscope.predict import Sweep

LARGE, LARGER = 1 << 18, 1 << 20
FREE = 0.95  # share of its own bandwidth above which a message of many counts as not shared


def packed(files: list[str]) -> pl.DataFrame:
    """Return the points of collectives, sorted; later files replace earlier points."""
    rows = pl.concat(
        [pl.read_csv(file, schema_overrides={"mean": pl.Float64, "last": pl.Float64}) for file in files]
    )
    return rows.unique(["platform", "collective", "algorithm", "ranks", "bytes"], keep="last").sort(
        "platform", "collective", "algorithm", "ranks", "bytes"
    )


def machine(platform: str, messages: pl.DataFrame) -> str:
    """Return YAML of a machine from messages between halves of ranks: one, or all at once (with a +)."""
    columns = messages.select("ranks", "algorithm", "bytes", "last").iter_rows()
    times = {(ranks, one.endswith("+"), size): last for ranks, one, size, last in columns}
    lines = [
        f"# Messages on {platform}, 1024 hosts, simulated by SimGrid; made by keep.py.",
        f"name: {platform}, simulated",
        "levels:",
    ]
    for ranks in sorted({ranks for ranks, _, _ in times}):
        alone, loaded = (
            (LARGER - LARGE) / (times[ranks, all_at_once, LARGER] - times[ranks, all_at_once, LARGE])
            for all_at_once in (False, True)
        )
        shared = f", shared: {ranks / 2 * loaded / 1e9:.4g} GB/s" if loaded < FREE * alone else ""
        lines.append(
            f"  - {{name: {ranks} ranks, cores: {ranks}, latency: {1e6 * times[ranks, True, 8]:.4g} us, "
            f"bandwidth: {alone / 1e9:.4g} GB/s{shared}}}"
        )
    return "\n".join([*lines, "arithmetic: 1000000 GB/s  # adding takes no simulated time", ""])


def kept_sweep(place: Path, name: str) -> None:
    """Store a real library's points without samples; points of other libraries are preserved."""
    sweep, file = Sweep.read(name), place / "nodes.parquet"
    library = str(sweep.environment.get("library"))
    points = sweep.points.filter(pl.col("status") == "ok").select(
        "collective",
        "algorithm",
        pl.col("ranks", "launch").cast(pl.Int16),
        pl.col("bytes").cast(pl.Int32),
        pl.col("median", "ci_low", "ci_high").cast(pl.Float32),
        library=pl.lit(library),
    )
    names = pl.col("collective", "algorithm", "library")
    if file.exists():
        others = pl.read_parquet(file).with_columns(names.cast(pl.String))
        points = pl.concat([others.filter(pl.col("library") != library), points])
    points = points.with_columns(names.cast(pl.Categorical))
    points.write_parquet(file, compression="zstd", compression_level=22)
    print(f"{len(points)} points, {file.stat().st_size} bytes")


def main() -> None:
    """Write all files."""
    place, files = Path(sys.argv[1]), sys.argv[2:]
    if files[0].endswith(".jsonl"):
        kept_sweep(place, files[0])
        return
    rows = packed(files)
    file = place
    if place.suffix != ".parquet":
        file = place / "simulated.parquet"
        for (platform,), messages in rows.filter(pl.col("collective") == "p2p").group_by("platform"):
            (place / f"{platform}.yaml").write_text(machine(str(platform), messages), encoding="utf-8")
    points = rows.filter(pl.col("collective") != "p2p").with_columns(
        pl.col("platform", "collective", "algorithm", "reason").cast(pl.Categorical),
        pl.col("ranks").cast(pl.Int16),
        pl.col("bytes").cast(pl.Int32),
        pl.col("mean", "last").cast(pl.Float32),
    )
    points.write_parquet(file, compression="zstd", compression_level=22)
    print(f"{len(points)} points, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
