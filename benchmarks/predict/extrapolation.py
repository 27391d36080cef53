"""Errors of predictions at unmeasured points, and the cost of choices by them.

    python benchmarks/predict/extrapolation.py [FILE.csv]     # with it: the table (extrapolation.csv)

Stored data (`kept/`) are of SimGrid's own implementations of collectives on four networks, and of its
selectors. The library's own choice is that of the selector for Open MPI. Held out are numbers of ranks over
32, every second size, both, and whole collectives. Scaling models are compared with four alternatives: the
nearest measured point (in ratios of ranks and sizes), Hockney's model, the paper's formulas, and the
library's own choice. Hockney's model and the formulas use the same machine's messages, for algorithms with a
known schedule.

Data for validation were measured after the development of the models, and predicted from all earlier data. If
models are changed because of the errors of such data, new data must be measured:

* `kept/unseen.parquet`: numbers of ranks over 256, and some that are no powers of two.
* `kept/later.parquet`: 10, 20 and 40 ranks, measured after intervals were made wider for such numbers.
* `kept/large.parquet`: 512 and 1024 ranks, measured after the last change.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import Estimate, emit, emit_allowed, write_rows

from haloscope import predict
from haloscope.predict import ALGORITHMS, CollectiveLaws, Way

HERE = Path(__file__).resolve().parent
DATA = HERE / "kept" / "simulated.parquet"
UNSEEN = HERE / "kept" / "unseen.parquet"
LATER = HERE / "kept" / "later.parquet"
LARGE = HERE / "kept" / "large.parquet"
PLATFORMS = ("fat-tree", "fat-tree-full", "dragonfly", "torus")
SELECTORS = ("ompi", "mpich", "mvapich2")
MOST_SEEN = 32
SPLITS = ("ranks", "sizes", "ranks and sizes")
FRESH = {
    "over 256 ranks": UNSEEN,
    "over 256 ranks, and sizes": UNSEEN,
    "no powers of two": UNSEEN,
    "10, 20, 40 ranks": LATER,
    "over 256 ranks, later": LARGE,
}
MOST_KEPT = 256
MEAN_LOSS, WORST_LOSS, HELD = 0.02, 0.15, 0.95
SLOWER = 0.999  # relative to the speed of the library's own choice
_MOST_PAIRS = 1 << 16  # most messages of an all-to-all for which a schedule is executed
# SMPI's algorithms with the same messages as one of our schedules.
SCHEDULES = {
    ("allreduce", "rdb"): "recursive_doubling",
    ("allreduce", "lr"): "ring",
    ("allreduce", "rab_rdb"): "reduce_scatter_allgather",
    ("bcast", "binomial_tree"): "binomial",
    ("bcast", "flattree"): "basic_linear",
    ("bcast", "scatter_LR_allgather"): "scatter_allgather_ring",
    ("bcast", "scatter_rdb_allgather"): "scatter_allgather",
    ("reduce", "binomial"): "binomial",
    ("reduce", "flat_tree"): "linear",
    ("reduce", "scatter_gather"): "reduce_scatter_gather",
    ("reduce", "rab"): "rabenseifner",
    ("allgather", "NTSLR"): "ring",
    ("allgather", "bruck"): "bruck",
    ("allgather", "rdb"): "recursive_doubling",
    ("alltoall", "bruck"): "modified_bruck",
    ("alltoall", "pair"): "pairwise",
    ("alltoall", "basic_linear"): "linear",
}


@dataclass
class Judged:
    """Errors of one prediction method, and the cost of choices by it compared with the best, as ratios."""

    errors: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)

    @property
    def slower(self) -> int:
        """Number of choices that are slower than the library's own."""
        return sum(gain < SLOWER for gain in self.gains)


Results = dict[tuple[str, str], Judged]  # by split and prediction method
Schedules = Mapping[tuple[str, str], str]  # ours, by collective and the library's algorithm


def points_of(platform: str, file: Path = DATA) -> pl.DataFrame:
    """Return a platform's points with the columns of a sweep; the time is that of the last rank."""
    rows = pl.read_parquet(file).with_columns(
        pl.col("platform", "collective", "algorithm", "reason").cast(pl.String)
    )
    rows = rows.filter((pl.col("platform") == platform) & pl.col("last").is_not_null())
    rows = rows.filter(pl.col("algorithm").is_in(["mpich", "mvapich2"]).not_())
    names = pl.when(pl.col("algorithm") == "ompi").then(pl.lit("default")).otherwise(pl.col("algorithm"))
    return as_measured(rows, names, pl.col("last"))


def as_measured(rows: pl.DataFrame, algorithm: pl.Expr, time: pl.Expr) -> pl.DataFrame:
    """Return stored points with the columns of a sweep, without segments."""
    return rows.select(
        "collective",
        algorithm=algorithm,
        segment=pl.lit(0, pl.Int64),
        fanout=pl.lit(0, pl.Int64),
        ranks=pl.col("ranks").cast(pl.Int64),
        bytes=pl.col("bytes").cast(pl.Int64),
        status=pl.lit("ok"),
        time=time.cast(pl.Float64),
    )


def parted(points: pl.DataFrame, split: str, most: int = MOST_SEEN) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split points into those used for the fit, with up to `most` ranks, and those used for the errors."""
    sizes = points["bytes"].unique().sort().to_list()
    few, some = pl.col("ranks") <= most, pl.col("bytes").is_in(sizes[1:-1:2]).not_()
    if split == "ranks":
        return points.filter(few), points.filter(few.not_())
    if split == "sizes":
        return points.filter(some), points.filter(some.not_())
    return points.filter(few & some), points.filter(few.not_() & some.not_())


def fresh(points: pl.DataFrame, unseen: pl.DataFrame, split: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split into points used for the fit and for the errors; `unseen` was measured after the development."""
    many = unseen["ranks"] > MOST_KEPT
    if not split.startswith("over"):
        return points, unseen.filter(~many)
    if not split.endswith("sizes"):
        return points, unseen.filter(many)
    some = pl.col("bytes").is_in(points["bytes"].unique().sort().to_list()[1:-1:2])
    return points.filter(~some), unseen.filter(many).filter(some)


def judge(platform: str, results: Results) -> None:
    """Add the results of one platform's points."""
    machine = predict.load_machine(HERE / "kept" / f"{platform}.yaml")
    points = points_of(platform)
    for split in SPLITS:
        seen, unseen = parted(points, split)
        judge_split(split, CollectiveLaws.of(seen, machine), Nearest(seen), machine, unseen, results)
    for split, file in FRESH.items():
        seen, unseen = fresh(points, points_of(platform, file), split)
        judge_split(split, CollectiveLaws.of(seen, machine), Nearest(seen), machine, unseen, results)
    judge_collectives(points, machine, results)


def judge_collectives(points: pl.DataFrame, machine: predict.Machine, results: Results) -> None:
    """Add results for unmeasured collectives: the cost of their messages by Hockney's model."""
    for (collective, ranks, size), group in points.group_by(
        "collective", "ranks", "bytes", maintain_order=True
    ):
        truth = {
            Way(str(collective), name): seconds for name, seconds in group.select("algorithm", "time").rows()
        }
        place = int(str(ranks)), int(str(size))
        said = {way: by_formula(machine, "hockney", way, *place) for way in truth}
        known = {way: seconds for way, seconds in said.items() if seconds is not None}
        if len(known) > 1:
            one = of(results, "collective", "hockney")
            one.errors += [abs(seconds / truth[way] - 1) for way, seconds in known.items()]
            one.losses.append(
                truth[min(known, key=lambda way: known[way])] / min(truth[way] for way in known) - 1
            )


class Nearest:
    """Prediction by the nearest measured point, in the logarithms of ranks and size."""

    def __init__(self, seen: pl.DataFrame) -> None:
        self._times: dict[Way, dict[tuple[int, int], float]] = {}
        for collective, algorithm, ranks, size, seconds in seen.select(
            "collective", "algorithm", "ranks", "bytes", "time"
        ).iter_rows():
            self._times.setdefault(Way(collective, algorithm), {})[ranks, size] = seconds
        self._near = cache(self._nearest)

    def time(self, way: Way, ranks: int, size: int) -> float | None:
        """Return the time of the nearest point; None if the algorithm was not measured."""
        place = self._near(way, ranks, size)
        return None if place is None else self._times[way][place]

    def _nearest(self, way: Way, ranks: int, size: int) -> tuple[int, int] | None:
        if way not in self._times:
            return None
        return min(
            self._times[way], key=lambda place: abs(np.log2(place[0] / ranks)) + abs(np.log2(place[1] / size))
        )


def judge_split(
    split: str,
    laws: CollectiveLaws,
    nearest: Nearest,
    machine: predict.Machine,
    unseen: pl.DataFrame,
    results: Results,
    *,
    schedules: Schedules = SCHEDULES,
) -> None:
    """Compare held-out points with each prediction, and with the choices by it."""
    hockney, paper = (
        cache(lambda way, ranks, size, said=said: by_formula(machine, said, way, ranks, size, schedules))
        for said in ("hockney", "paper")
    )
    ours = set(laws.collectives)
    for (collective, ranks, size), group in unseen.group_by(
        "collective", "ranks", "bytes", maintain_order=True
    ):
        assert isinstance(collective, str)
        assert isinstance(ranks, int)
        assert isinstance(size, int)
        if collective not in ours:
            continue
        known = set(laws.list_ways(collective))
        truth = {
            Way(collective, name): seconds for name, seconds in group.select("algorithm", "time").iter_rows()
        }
        truth = {way: seconds for way, seconds in truth.items() if way in known}
        default = Way(collective, "default")
        if default not in truth or len(truth) < 3:
            continue
        place = ranks, size
        law = {way: laws.estimate(way, *place) for way in truth}
        for way, seconds in truth.items():
            if way != default:
                one = of(results, split, "law")
                one.errors.append(abs(law[way].time / seconds - 1))
                one.held.append(law[way].low <= seconds <= law[way].high)
        others: dict[str, Callable[[Way], float | None]] = {
            "nearest": lambda way, place=place: nearest.time(way, *place),  # type: ignore[misc]
            "hockney": lambda way, place=place: hockney(way, *place),  # type: ignore[misc]
            "paper": lambda way, place=place: paper(way, *place),  # type: ignore[misc]
        }
        chosen = {"law": laws.choose(collective, *place, among=truth).way, "default": default}
        chosen["law, sure or not"] = laws.choose(collective, *place, among=truth).fastest
        for name, function in others.items():
            times = {way: function(way) for way in truth if way != default}
            said = {way: seconds for way, seconds in times.items() if seconds is not None}
            of(results, split, name).errors += [
                abs(seconds / truth[way] - 1) for way, seconds in said.items()
            ]
            if len(said) > 1:
                chosen[name] = min(said, key=lambda way: said[way])
        best = min(truth.values())
        for name, way in chosen.items():
            one = of(results, split, name)
            one.losses.append(truth[way] / best - 1)
            one.gains.append(truth[default] / truth[way])


def of(results: Results, split: str, name: str) -> Judged:
    """Return the results of a split and method; create them if necessary."""
    return results.setdefault((split, name), Judged())


def by_formula(
    machine: predict.Machine, formula: str, way: Way, ranks: int, size: int, schedules: Schedules = SCHEDULES
) -> float | None:
    """Return the time by a formula; None if it does not have the algorithm."""
    name = schedules.get((way.collective, way.algorithm))
    if name is None or (formula == "paper" and name not in ALGORITHMS.get(way.collective, ())):
        return None
    if way.collective == "alltoall" and ranks * ranks > _MOST_PAIRS:
        return None
    rows = predict.model(machine, way.collective, [name], [ranks], [size], formula=formula)
    return float(rows["time"][0])


def all_results() -> Results:
    """Return the results of all platforms."""
    results: Results = {}
    for platform in PLATFORMS:
        begun = time.perf_counter()
        judge(platform, results)
        print(f"extrapolation: {platform}, {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    return results


NAMES = {
    "law": "scaling model; the library's own choice unless it is significantly slower",
    "law, sure or not": "scaling model; the fastest by it",
    "nearest": "nearest measured point",
    "hockney": "Hockney",
    "paper": "the paper's formulas",
    "default": "the library's own choice",
}


def rows(
    results: Results, splits: Sequence[str] = (*SPLITS, "collective", *FRESH)
) -> Iterator[dict[str, object]]:
    """Yield the rows of the table: errors, losses, and the share inside intervals, in per cent."""
    for split in splits:
        for name, predicted_by in NAMES.items():
            one = results.get((split, name))
            if one is None:
                continue
            yield {
                "unseen": split,
                "predicted_by": predicted_by,
                "points": len(one.errors) or "",
                **_percents("error", one.errors),
                "held": f"{100 * np.mean(one.held):.1f}" if one.held else "",
                "choices": len(one.losses) or "",
                **_percents("loss", one.losses),
                "gain": f"{np.exp(np.log(one.gains).mean()):.2f}" if one.gains else "",
                "slower": one.slower if one.gains else "",
            }


def _percents(name: str, values: list[float]) -> dict[str, str]:
    if not values:
        return dict.fromkeys((f"{name}_mean", f"{name}_p95", f"{name}_worst"), "")
    of_all = (float(np.mean(values)), float(np.quantile(values, 0.95)), max(values))
    return {
        f"{name}_{what}": f"{100 * value:.3g}"
        for what, value in zip(("mean", "p95", "worst"), of_all, strict=True)
    }


CASES = tuple(
    f"unseen {split}: {what}"
    for split in (*SPLITS, *FRESH)
    for what in ("loss, mean", "loss, worst", "held by intervals")
)


def measure() -> None:
    """Print a row for each case."""
    results = all_results()
    for split in (*SPLITS, *FRESH):
        one = of(results, split, "law")
        for what, loss, most in (
            ("mean", float(np.mean(one.losses)), MEAN_LOSS),
            ("worst", max(one.losses), WORST_LOSS),
        ):
            emit_allowed("predict", f"unseen {split}: loss, {what}", 100 * loss, 100 * most, "%")
        share = float(np.mean(one.held))
        ratio = share / HELD
        emit(
            "predict",
            f"unseen {split}: held by intervals",
            ours=100 * share,
            peer=100 * HELD,
            peer_name="said",
            unit="%",
            ratio=Estimate(ratio, ratio, ratio),
            target=1.0,
        )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        write_rows(Path(sys.argv[1]), rows(all_results()))
    else:
        measure()
