"""`haloscope regimes`: tables, a page and a model from files of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from os import PathLike
from pathlib import Path

from haloscope.base.errors import TimingsError, UsageError
from haloscope.markov.analysis import RegimeAnalysis, RegimeOptions, analyse, resolve_emission
from haloscope.markov.figures.regimes_page import write_regimes_page
from haloscope.markov.reading import read_timings
from haloscope.markov.results import Results, results_of
from haloscope.markov.timings import Timings

File = str | PathLike[str]


def regimes(
    files: File | Sequence[File | Sequence[File]],
    options: RegimeOptions | None = None,
    *,
    region: str | None = None,
    output: File | None = None,
    values: tuple[str, str] | None = None,
    model: File | None = None,
    progress: Callable[[str], None] | None = None,
) -> Results:
    """Find the regimes of a region's times, which separate program time from system noise.

    Each file is fitted separately, and all are compared with the first one.

    Args:
        files: Profiles with a series of the region, or times in seconds as .npy, .npz, CSV or Parquet. A
            sequence among `files` has several runs of one method; then methods are compared, and differences
            between runs are in the intervals.
        options: How regimes are found.
        region: The region; None: the only one with a series.
        output: HTML page to write.
        values: Two recorded values for a scatter plot on the page.
        model: File for the fitted model; for a single file.
        progress: Called at the begin of each step with its name.

    Raises:
        UsageError: If files or options do not fit together.
        ProfileError: If a file has no times.
        TimingsError: If times are unsuitable.
        OutputError: If a file cannot be written.

    Examples:
        >>> results = haloscope.regimes(["fixed.halo", "dynamic.halo"], region="matvec", output="both.html")
        >>> results.frame.select("file", "regime", "mean", "share")
        >>> print(results.describe()[-1])
    """
    step = progress or _ignore_step
    methods = [[files]] if isinstance(files, (str, PathLike)) else [_runs(method) for method in files]
    _check(methods, model)
    paths = [Path(path) for path in chain(*methods)]
    names, options = _names(paths), options or RegimeOptions()
    runs = [_read(path, name, region, step) for path, name in zip(paths, names, strict=True)]
    emission = resolve_emission(runs, options)
    analyses = [_analyse(path, run, options, emission, step) for path, run in zip(paths, runs, strict=True)]
    if model is not None:
        machine = analyses[0].machine
        (machine.model if machine else analyses[0].ranks.regimes.model).save(model)
    step("comparing")
    results = results_of(analyses, [index for index, runs in enumerate(methods) for _ in runs])
    if output is not None:
        write_regimes_page(results, Path(output), values or (), step)
    return results


def _ignore_step(what: str) -> None:
    """Ignore a step."""


def _runs(method: File | Sequence[File]) -> Sequence[File]:
    return [method] if isinstance(method, (str, PathLike)) else method


def _check(methods: Sequence[Sequence[File]], model: File | None) -> None:
    counts = [len(runs) for runs in methods]
    if not counts or not all(counts):
        raise UsageError("a method has no runs; name the runs of each method")
    if max(counts) > 1 == min(counts) and len(counts) > 1:
        numbers = ", ".join(map(str, counts))
        raise UsageError(f"methods of {numbers} runs cannot be compared; name 2 or more of each")
    if model is not None and sum(counts) > 1:
        raise UsageError(f"one model can be saved, and there are {sum(counts)} files; name one")


def _names(files: Sequence[Path]) -> list[str]:
    """Return names of files for tables: the shortest ends of their paths that differ."""
    stems = [path.stem for path in files]
    if len(set(stems)) == len(files):
        return stems
    paths = [str(path) for path in files]
    if len(set(paths)) == len(files):
        return paths
    twice = next(path for path in paths if paths.count(path) > 1)
    raise UsageError(f"{twice}: is named twice; name different files")


def _read(path: Path, name: str, region: str | None, progress: Callable[[str], None]) -> Timings:
    progress(f"reading {name}")
    return replace(read_timings(path, region), name=name)


def _analyse(
    path: Path, timings: Timings, options: RegimeOptions, emission: str, progress: Callable[[str], None]
) -> RegimeAnalysis:
    progress(f"fitting {timings.name}")
    try:
        return analyse(timings, options, emission)
    except TimingsError as error:
        raise TimingsError(f"{path}: {error}") from None
