"""The paper's claims on Figures 1 to 6, tested on the profiles of `scaling.py`.

Counts are tested on runs of this machine, times only on simulated runs: ranks that share cores wait for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import polars as pl

from haloscope.reproduce.study import Tested

NO_GPU = "no GPU here"
SHARED = "ranks share cores here, and hypre cannot be simulated"
TOO_MANY = "a step on 896 processes has 3.6 million messages: too many to simulate here"
GPU_RATES = (
    "Kripke against AMG2023 on GPUs",
    "Kripke bandwidth grows on GPUs",
    "AMG2023 bandwidth on GPUs",
    "AMG2023 peak on GPUs",
    "AMG2023 opposite on GPUs",
)
DANE_MOST = 512  # processes of the paper's largest run; on fewer, its claims on many partners are open
# "Relatively flat": at most this ratio of largest to least.
FLAT = 1.5


def rises(values: Sequence[float]) -> bool:
    """Return whether each value is larger than the one before."""
    return all(after > before for before, after in pairwise(values))


def listed(frame: pl.DataFrame, column: str, key: str = "run_ranks") -> str:
    """Return the values of a column by `key`: "8: 3, 16: 4"."""
    return ", ".join(f"{at}: {value:.4g}" for at, value in frame.sort(key).select(key, column).rows())


def kripke_times(times: pl.DataFrame) -> Iterator[Tested]:
    """Yield the claims of Figure 1; `times` are seconds of simulated runs by `run_ranks`."""
    inner = times.with_columns(
        own=pl.col("solve") - pl.col("sweep_comm"), share=pl.col("solve") / pl.col("main")
    )
    rest = inner.select(pl.min_horizontal("own", pl.col("main")) - pl.col("sweep_comm")).to_series()
    ratio = inner.with_columns(ratio=pl.col("sweep_comm") / pl.col("main"))
    yield Tested(
        "Kripke exchange least",
        bool((rest > 0).all()),
        f"share of sweep_comm in main, by ranks: {listed(ratio, 'ratio')}",
        "simulated",
    )
    yield Tested(
        "Kripke solve most",
        bool((inner["share"] > 0.5).all()),
        f"share of solve in main, by ranks: {listed(inner, 'share')}",
        "simulated",
    )
    rows = inner.sort("run_ranks").select("run_ranks", "sweep_comm", "own").rows()
    (fewest, *first), (most, *last) = rows[0], rows[-1]
    exchange, computing = (after / before for before, after in zip(first, last, strict=True))
    yield Tested(
        "Kripke exchange grows slowly",
        exchange < computing,
        f"{fewest} to {most} ranks: sweep_comm {exchange:.1f} times, "
        f"the rest of solve {computing:.1f} times; sweep_comm includes the wait for ranks before this one",
        "simulated",
    )
    for name in ("Kripke share higher on CPUs", "Kripke longer on GPUs"):
        yield Tested(name, None, NO_GPU)


def amg_levels(tioga: pl.DataFrame, dane: pl.DataFrame) -> Iterator[Tested]:
    """Yield the claims of Figures 2 and 3.

    Both frames have rows by `run_ranks` and `level`: `bytes`, of the rank that sends most; `total`, of all
    ranks; `partners` and `most_partners`, sources per rank, mean and most.
    """
    for_both = pl.concat(
        [tioga.with_columns(system=pl.lit("Tioga")), dane.with_columns(system=pl.lit("Dane"))]
    )
    counts = for_both.group_by("system", "run_ranks").agg(levels=pl.len()).sort("system", "run_ranks")
    each = {str(system): part for (system,), part in counts.group_by(["system"], maintain_order=True)}
    grown = all(part["levels"][-1] > part["levels"][0] for part in each.values())
    text = "; ".join(f"{system}, levels by ranks: {listed(part, 'levels')}" for system, part in each.items())
    yield Tested("AMG2023 levels", grown, text, "counted")
    fine = for_both.with_columns(fine=pl.col("level") <= 2)
    shares = fine.group_by("system", "run_ranks").agg(
        share=pl.col("total").filter(pl.col("fine")).sum() / pl.col("total").sum()
    )
    found = sorted(shares["share"].to_list())
    yield Tested(
        "AMG2023 fine levels most",
        bool((shares["share"] > 0.5).all()),
        f"shares from {found[0]:.2f} to {found[-1]:.2f}",
        "counted",
    )
    growing = {
        f"{system} {level}": rises(part.sort("run_ranks")["bytes"].to_list())
        for (system, level), part in fine.filter("fine").group_by(["system", "level"], maintain_order=True)
    }
    text = f"{sum(growing.values())} of {len(growing)} levels grow with each number of ranks"
    yield Tested("AMG2023 fine levels grow", all(growing.values()), text, "counted")
    yield middle_levels({"Tioga": tioga, "Dane": dane})
    part = for_both.group_by("system", "run_ranks").agg(
        share=pl.col("total").filter(pl.col("level") >= 6).sum() / pl.col("total").sum()
    )
    part = part.filter(pl.col("share") > 0).sort("system", "run_ranks")
    text = ", ".join(f"{system} {ranks}: {share:.2g}" for system, ranks, share in part.rows())
    flat = bool((part["share"] < 0.1).all()) if len(part) else None
    text = f"share of levels 6 and above: {text}" if text else "no run has level 6"
    yield Tested("AMG2023 coarse levels flat", flat, text, "counted")
    yield from amg_partners(dane)
    yield from tioga_sources(tioga)


def amg_partners(dane: pl.DataFrame) -> Iterator[Tested]:
    """Yield the claims of Figure 3 on Dane."""
    most = int(dane["run_ranks"].max())  # type: ignore[arg-type]
    largest = dane.filter(run_ranks=most).sort("level")
    means = largest["partners"].to_list()
    peak = max(range(len(means)), key=means.__getitem__)
    text = f"{most} ranks, mean partners by level: {listed(largest, 'partners', 'level')}"
    yield Tested("AMG2023 partners by level", peak > 2 and rises(means[: peak + 1]), text, "counted")
    fine = (
        dane.filter(pl.col("level") <= 3)
        .group_by("level")
        .agg(ratio=pl.col("partners").max() / pl.col("partners").min())
    )
    text = f"largest over least number of ranks' partners, by level: {listed(fine, 'ratio', 'level')}"
    yield Tested("AMG2023 partners flat", bool((fine["ratio"] <= FLAT).all()), text, "counted")
    high = dane.filter(pl.col("level").is_between(6, 9)).group_by("run_ranks").agg(pl.col("partners").max())
    at = dict(high.select("run_ranks", "partners").rows())
    sharp = most >= DANE_MOST and at.get(most, 0) > FLAT * at.get(most // 2, float("inf"))
    text = f"largest mean of levels 6 to 9, by ranks: {listed(high, 'partners') or 'no such level'}"
    yield Tested("AMG2023 partners rise", sharp if most >= DANE_MOST else None, text, "counted")
    six = largest.filter(level=6)
    hundred = largest.filter(pl.col("most_partners") > 100)["level"].to_list()
    text = (
        f"{most} ranks with a quarter of the points along each axis: "
        + (
            f"a rank has up to {six['most_partners'].item()} partners at level 6; "
            if len(six)
            else "no level 6; "
        )
        + (
            f"more than 100 at levels {', '.join(map(str, hundred))}"
            if hundred
            else "no level has more than 100"
        )
    )
    holds = bool(len(six)) and six["most_partners"].item() > 100
    # More processes can only have more partners, so that fewer can confirm.
    yield Tested("AMG2023 hundred partners", holds if holds or most >= DANE_MOST else None, text, "counted")


def middle_levels(each: Mapping[str, pl.DataFrame]) -> Tested:
    """Return the claim on levels 3 to 5; frames of systems have `run_ranks`, `level` and `bytes`."""
    holds, texts = [], []
    for system, rows in each.items():
        ends = [
            rows.filter(pl.col("run_ranks") == getattr(rows["run_ranks"], end)()) for end in ("min", "max")
        ]
        both = ends[0].join(ends[1], on="level", suffix="_after")
        grown = both.with_columns(grown=pl.col("bytes_after") - pl.col("bytes"))
        fine = grown.filter(pl.col("level") <= 2)["grown"].to_list()
        middle = grown.filter(pl.col("level").is_between(3, 5))["grown"].to_list()
        if middle:
            holds.append(min(middle) > 0 and max(middle) < min(fine))
            texts.append(f"{system}, levels 0 to 2: {min(fine)} and more, levels 3 to 5: up to {max(middle)}")
    text = f"more bytes on the most processes than on the fewest; {'; '.join(texts)}"
    return Tested("AMG2023 middle levels", all(holds) if holds else None, text, "counted")


def tioga_sources(tioga: pl.DataFrame) -> Iterator[Tested]:
    """Yield the claims of Figure 3 on Tioga, by runs on processors."""
    text = "by hypre's algorithms for processors, mean partners by level, "
    growing, texts = [], []
    for (level,), rows in tioga.filter(pl.col("level") <= 6).group_by(["level"], maintain_order=True):
        ordered = rows.sort("run_ranks")
        growing.append(rises(ordered["partners"].to_list()))
        texts.append(f"{level} ({listed(ordered, 'partners')})")
    yield Tested("AMG2023 sources on Tioga", all(growing), text + "; ".join(texts), "counted")
    is_coarse = pl.col("level") >= 7
    coarse, others = (tioga.filter(where)["partners"].to_list() for where in (is_coarse, ~is_coarse))
    if coarse:
        found = f"levels 7 and above up to {max(coarse):.3g}, others up to {max(others):.3g}"
        yield Tested("AMG2023 coarse on Tioga", max(coarse) < max(others), text + found, "counted")
    else:
        yield Tested("AMG2023 coarse on Tioga", None, "no run has level 7", "counted")


def laghos_times(times: pl.DataFrame) -> Iterator[Tested]:
    """Yield the claims of Figure 4; `times` are seconds of simulated runs, by ranks."""
    ordered = times.sort("run_ranks")
    falling = all(rises([-value for value in ordered[name]]) for name in ("main", "timestep"))
    yield Tested(
        "Laghos faster", falling, f"seconds in timestep, by ranks: {listed(ordered, 'timestep')}", "simulated"
    )
    halo = ordered["halo_exchange"]
    flat = float(halo.max()) <= FLAT * float(halo.min())  # type: ignore[arg-type]
    text = f"seconds in halo_exchange, by ranks: {listed(ordered, 'halo_exchange')}"
    yield Tested("Laghos halo", flat, text, "simulated")


def rates(kripke: pl.DataFrame, laghos: pl.DataFrame) -> Iterator[Tested]:
    """Yield the claims of Figures 5 and 6; frames have rates of bytes and messages of simulated runs."""
    both = kripke.join(laghos, on="run_ranks", suffix="_laghos").filter(pl.col("run_ranks") >= 64)
    for name, column, sign in (("Kripke most bytes", "bytes", 1), ("Kripke fewest messages", "messages", -1)):
        difference = sign * (both[column] - both[f"{column}_laghos"])
        ratio = both.with_columns(ratio=pl.col(column) / pl.col(f"{column}_laghos"))
        text = f"Kripke over Laghos, by ranks: {listed(ratio, 'ratio')}; AMG2023: {SHARED}"
        # One program of three is enough to refute, not to confirm.
        yield Tested(name, None if bool((difference > 0).all()) else False, text, "simulated")
    for name in ("AMG2023 least bytes", "AMG2023 rate declines"):
        yield Tested(name, None, SHARED)
    wide = kripke.filter(pl.col("run_ranks") >= 64).sort("run_ranks")
    falling = rises([-value for value in wide["bytes"]])
    yield Tested(
        "Kripke bandwidth declines",
        falling,
        f"bytes per second, by ranks: {listed(wide, 'bytes')}",
        "simulated",
    )
    growing = rises(laghos.sort("run_ranks")["messages"].to_list())
    text = f"messages per second, by ranks: {listed(laghos, 'messages')}"
    yield Tested("Laghos message rate", growing, text, "simulated")
    for name in ("Laghos peak", "Laghos plateau"):
        yield Tested(name, None, TOO_MANY)
    yield Tested("Laghos moderate", None, f"AMG2023: {SHARED}")
    for name in GPU_RATES:
        yield Tested(name, None, NO_GPU)
