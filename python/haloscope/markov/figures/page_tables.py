"""The tables of a page about regimes, and their explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from haloscope.base.errors import printable
from haloscope.base.units import UNKNOWN, count_text, percent_text, time_text
from haloscope.markov.figures.elements import Column, Table, fill_table
from haloscope.markov.fitting.whole_machine import Stay


def _text(value: str | None) -> str:
    return UNKNOWN if value is None else printable(value)


def _number(form: str) -> Callable[[float | None], str]:
    return lambda value: UNKNOWN if value is None else format(value, form)


_share = partial(percent_text, whole=1)
_RUN: Column = ("run", "The file or method", "file", _text)


def regime_tables(frame: pl.DataFrame, several: bool, caption: str, paper: str = "") -> Table:
    """Return Table 1, a row per run and regime, from the frame that the command prints."""
    columns: list[Column] = [
        *([_RUN] if several else []),
        ("regime", "1 is the fastest", "regime", count_text),
        ("mean", "Mean time of an instance in the regime", "mean", time_text),
        ("interval", "95 % confidence interval of the mean, for dependent instances", "interval", None),
        ("deviation", "Standard deviation of the sample", "std", time_text),
        ("median", "Median time", "median", time_text),
        ("share", "Share of all instances", "share", _share),
        ("instances", "Of all ranks", "instances", count_text),
        ("stay", "Mean number of instances in a row", "run_length", _number(".1f")),
    ]
    rows = []
    for row in frame.to_dicts():
        low, high = row["mean_low"], row["mean_high"]
        interval = (low, UNKNOWN if low is None else f"{time_text(low)} – {time_text(high)}")
        rows.append(row | {"interval": interval})
    return fill_table(caption, columns, rows, paper)


def machine_table(found: Sequence[tuple[str, Sequence[Stay]]], several: bool) -> Table:
    """Return the states of whole machines: a row per run and state."""
    regimes = max(len(stay.regimes) for _, stays in found for stay in stays)
    in_state = "Share of ranks and instances in this state"
    columns: list[Column] = [
        *([_RUN] if several else []),
        ("machine state", "1 is the fastest", "number", count_text),
        ("mean", "Mean time of an instance in it, over the fitted ranks", "mean", time_text),
        ("share", "Share of the instances", "share", _share),
        ("stretches", "Number of stretches", "stretches", count_text),
        ("length", "Mean number of instances in a row", "length", _number(".1f")),
        *((f"regime {n + 1}", in_state, str(n), _share) for n in range(regimes)),
    ]
    rows = [
        vars(stay)
        | {"file": name, "number": stay.state + 1, "length": stay.length}
        | {str(n): part for n, part in enumerate(stay.regimes)}
        for name, stays in found
        for stay in stays
    ]
    return fill_table("A hidden state that all ranks share, and their regimes in it.", columns, rows)


def fit_table(rows: Sequence[Mapping[str, Any]], several: bool) -> Table:
    """Return how each model was fitted: a row per run and series."""
    columns: list[Column] = [
        *([_RUN] if several else []),
        ("series", "What was fitted", "series", _text),
        ("regimes", "Number of regimes", "regimes", count_text),
        ("family", "Distribution of the times in a regime", "family", _text),
        ("ranks fitted", "Ranks at equal distances in the order of medians (Algorithm 1)", "ranks", _text),
        ("instances", "Of each rank", "instances", count_text),
        ("starts", "The best one was kept", "starts", count_text),
        ("iterations", "Of the best start", "iterations", count_text),
        ("converged", "Whether the likelihood stopped rising", "ended", _text),
        ("log-likelihood", "Natural, of the fitted times", "log_likelihood", _number(".6g")),
        *((name.upper(), "Less is better", name, _number(".6g")) for name in ("aic", "bic", "icl")),
    ]
    shown = [{**row, "ended": "yes" if row["converged"] else "no"} for row in rows]
    return fill_table("", columns, shown, "Algorithm 1")


def test_table(frame: pl.DataFrame) -> Table:
    """Return the Kolmogorov-Smirnov tests of `compare_distributions`."""
    independent = "Effective number of independent times of the"
    columns: list[Column] = [
        ("first", "One run or method", "first", _text),
        ("second", "The other one", "second", _text),
        ("instances", "Which times were compared", "times", _text),
        ("distance", "The largest distance between the distributions", "statistic", _number(".3g")),
        (
            "plain p",
            "For independent times, as a comparison: the times are dependent",
            "p_plain",
            _number(".3g"),
        ),
        ("corrected p", "With the effective numbers of independent times", "p_corrected", _number(".3g")),
        ("worth, first", f"{independent} first", "effective_first", _number(".0f")),
        ("worth, second", f"{independent} second", "effective_second", _number(".0f")),
    ]
    rows = [
        row | {"times": "all" if row["regime"] is None else f"regime {row['regime']}"}
        for row in frame.to_dicts()
    ]
    caption = "Kolmogorov-Smirnov tests: a small p means different distributions."
    return fill_table(caption, columns, rows, "section 4.2")


def episode_table(frame: pl.DataFrame, several: bool, most: int) -> Table:
    """Return the slow episodes: rows of `episodes`, with the run in `file`."""
    columns: list[Column] = [
        *([_RUN] if several else []),
        ("who", "All ranks, those of a host, or one rank", "name", _text),
        ("first", "First instance", "first", count_text),
        ("last", "Last instance", "last", count_text),
        ("from", "Seconds after MPI_Init", "start", time_text),
        ("for", "How long it lasted", "duration", time_text),
        ("slow", "Share of these ranks' instances that were slow", "share", _share),
        ("lost", "Lost time, mean over these ranks", "lost", time_text),
    ]
    rows = [
        row | {"name": "all ranks" if row["who"] is None else f"{row['kind']} {row['who']}"}
        for row in frame.head(most).to_dicts()
    ]
    more = f" The first {most} of {len(frame)}." if len(frame) > most else ""
    caption = (
        "Stretches with unusually many slow times. Slow are regimes whose mean is at least 1.25 times that of"
        f" the fastest one, else the slowest regime.{more}"
    )
    return fill_table(caption, columns, rows)


def check_table(checks: Sequence[tuple[str, pl.DataFrame]]) -> Table:
    """Return statistics of the times, and of series drawn from the model, from `goodness`."""
    columns: list[Column] = [
        *([_RUN] if len(checks) > 1 else []),
        ("statistic", "Of the fitted times, in seconds", "statistic", _text),
        ("observed", "Of the fitted times", "observed", _number(".4g")),
        ("drawn, low", "2.5 % quantile of series that the model draws", "low", _number(".4g")),
        ("drawn, median", "Their median", "median", _number(".4g")),
        ("drawn, high", "97.5 % quantile", "high", _number(".4g")),
        ("observed is", "Inside or outside of the drawn range", "where", _text),
    ]
    rows = []
    for name, frame in checks:
        for row in frame.to_dicts():
            observed, low, high = row["observed"], row["low"], row["high"]
            inside = None not in {observed, low, high} and low <= observed <= high
            rows.append(row | {"file": name, "where": "inside" if inside else "outside"})
    caption = "Posterior predictive check: the model does not reproduce statistics that are outside."
    return fill_table(caption, columns, rows)
