"""The tables of a page about regimes, and their explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import count_text, percent_text, time_text
from haloscope.markov.figures.elements import Table
from haloscope.markov.fitting.whole_machine import Stay

Cell = tuple[float | str | None, str]


def _text(value: str | None) -> Cell:
    return value, "–" if value is None else printable(value)


def _time(value: float | None) -> Cell:
    return value, time_text(value)


def _count(value: float | None) -> Cell:
    return value, count_text(value)


def _share(value: float | None) -> Cell:
    return value, percent_text(value, 1)


def _number(value: float | None, form: str = ".3g") -> Cell:
    return value, "–" if value is None else format(value, form)


def regime_tables(frame: pl.DataFrame, several: bool, caption: str) -> Table:
    """Return Table 1, a row per run and regime, from the frame that the command prints."""
    columns = [
        *([("run", "The file or method")] if several else []),
        ("regime", "1 is the fastest"),
        ("mean", "Mean time of an instance in the regime"),
        ("interval", "95 % confidence interval of the mean, for dependent instances"),
        ("deviation", "Standard deviation of the sample"),
        ("median", "Median time"),
        ("share", "Share of all instances"),
        ("instances", "Of all ranks"),
        ("stay", "Mean number of instances in a row"),
    ]
    rows = []
    for row in frame.to_dicts():
        low, high = row["mean_low"], row["mean_high"]
        interval = (low, "–" if low is None else f"{time_text(low)} – {time_text(high)}")
        rows.append(
            [
                *([_text(row["file"])] if several else []),
                _count(row["regime"]),
                _time(row["mean"]),
                interval,
                _time(row["std"]),
                _time(row["median"]),
                _share(row["share"]),
                _count(row["instances"]),
                _number(row["run_length"], ".1f"),
            ]
        )
    return Table(caption, columns, rows)


def machine_table(found: Sequence[tuple[str, Sequence[Stay]]], several: bool) -> Table:
    """Return the states of whole machines: a row per run and state."""
    regimes = max(len(stay.regimes) for _, stays in found for stay in stays)
    columns = [
        *([("run", "The file or method")] if several else []),
        ("machine state", "1 is the fastest"),
        ("mean", "Mean time of an instance in it, over the fitted ranks"),
        ("share", "Share of the instances"),
        ("stretches", "Number of stretches"),
        ("length", "Mean number of instances in a row"),
        *((f"regime {n + 1}", "Share of ranks and instances in this state") for n in range(regimes)),
    ]
    rows = [
        [
            *([_text(name)] if several else []),
            _count(stay.state + 1),
            _time(stay.mean),
            _share(stay.share),
            _count(stay.stretches),
            _number(stay.length, ".1f"),
            *map(_share, stay.regimes),
        ]
        for name, stays in found
        for stay in stays
    ]
    caption = "A hidden state that all ranks share, and their regimes in it."
    return Table(caption, columns, rows)


def fit_table(rows: Sequence[Mapping[str, Any]], several: bool) -> Table:
    """Return how each model was fitted: a row per run and series."""
    columns = [
        *([("run", "The file or method")] if several else []),
        ("series", "What was fitted"),
        ("regimes", "Number of regimes"),
        ("family", "Distribution of the times in a regime"),
        ("ranks fitted", "Equidistant in the order of their medians (Algorithm 1)"),
        ("instances", "Of each rank"),
        ("starts", "The best one was kept"),
        ("iterations", "Of the start that was kept"),
        ("converged", "Whether the likelihood stopped rising"),
        ("log-likelihood", "Natural, of the fitted times"),
        ("AIC", "Less is better"),
        ("BIC", "Less is better"),
        ("ICL", "Less is better"),
    ]
    shown = [
        [
            *([_text(row["file"])] if several else []),
            _text(row["series"]),
            _count(row["regimes"]),
            _text(row["family"]),
            _text(row["ranks"]),
            _count(row["instances"]),
            _count(row["starts"]),
            _count(row["iterations"]),
            _text("yes" if row["converged"] else "no"),
            *(_number(row[key], ".6g") for key in ("log_likelihood", "aic", "bic", "icl")),
        ]
        for row in rows
    ]
    return Table("Paper: Algorithm 1.", columns, shown)


def test_table(frame: pl.DataFrame) -> Table:
    """Return the Kolmogorov-Smirnov tests of `compare_distributions`."""
    columns = [
        ("first", "One run or method"),
        ("second", "The other one"),
        ("instances", "Which times were compared"),
        ("distance", "The largest distance between the distributions"),
        ("plain p", "If all times were independent, which they are not"),
        ("corrected p", "With the effective numbers of independent times"),
        ("worth, first", "Effective number of independent times of the first"),
        ("worth, second", "Effective number of independent times of the second"),
    ]
    rows = [
        [
            _text(row["first"]),
            _text(row["second"]),
            _text(_label_regime(row["regime"])),
            _number(row["statistic"]),
            _number(row["p_plain"]),
            _number(row["p_corrected"]),
            _number(row["effective_first"], ".0f"),
            _number(row["effective_second"], ".0f"),
        ]
        for row in frame.to_dicts()
    ]
    caption = "Kolmogorov-Smirnov tests: a small p means different distributions. Paper: section 4.2."
    return Table(caption, columns, rows)


def _label_regime(regime: int | None) -> str:
    return "all" if regime is None else f"regime {regime}"


def episode_table(frame: pl.DataFrame, several: bool, most: int) -> Table:
    """Return the slow episodes: rows of `episodes`, with the run in `file`."""
    columns = [
        *([("run", "The file or method")] if several else []),
        ("who", "The whole machine, a host, or a rank"),
        ("first", "First instance"),
        ("last", "Last instance"),
        ("from", "Seconds after MPI_Init"),
        ("for", "How long it lasted"),
        ("slow", "Share of these ranks' instances that were slow"),
        ("lost", "Time that the average of these ranks lost"),
    ]
    rows = []
    for row in frame.head(most).to_dicts():
        who = "machine" if row["who"] is None else f"{row['kind']} {row['who']}"
        rows.append(
            [
                *([_text(row["file"])] if several else []),
                _text(who),
                _count(row["first"]),
                _count(row["last"]),
                _time(row["start"]),
                _time(row["duration"]),
                _share(row["share"]),
                _time(row["lost"]),
            ]
        )
    more = f" The first {most} of {len(frame)}." if len(frame) > most else ""
    caption = (
        "Stretches of unusually many slow times: of regimes whose mean is 1.25 times the fastest"
        f" one's, or else of the slowest one.{more}"
    )
    return Table(caption, columns, rows)


def check_table(checks: Sequence[tuple[str, pl.DataFrame]]) -> Table:
    """Return statistics of the times, and of series drawn from the model, from `goodness`."""
    columns = [
        *([("run", "The file or method")] if len(checks) > 1 else []),
        ("statistic", "Of the fitted times, in seconds"),
        ("observed", "Of the fitted times"),
        ("drawn, low", "2.5 % quantile of series that the model draws"),
        ("drawn, median", "Their median"),
        ("drawn, high", "97.5 % quantile"),
        ("observed is", "Inside or outside of the drawn range"),
    ]
    rows = []
    for name, frame in checks:
        for row in frame.to_dicts():
            observed, low, high = row["observed"], row["low"], row["high"]
            inside = None not in {observed, low, high} and low <= observed <= high
            numbers = [_number(row[key], ".4g") for key in ("observed", "low", "median", "high")]
            found = _text("inside" if inside else "outside")
            run = [_text(name)] if len(checks) > 1 else []
            rows.append([*run, _text(row["statistic"]), *numbers, found])
    caption = "Posterior predictive check: the model does not reproduce statistics that are outside."
    return Table(caption, columns, rows)
