"""The work of `haloscope inject`: run a command whose messages take longer."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from haloscope.base.errors import UsageError
from haloscope.base.objects import Abi
from haloscope.base.preloading import Choice, Outcome, find_target, run_preloaded
from haloscope.hide.libraries import build_injector
from haloscope.hide.records import (
    join_latency_record,
    latency_text,
    prepare_latency_record,
    remove_latency_parts,
    summarise_latencies,
)
from haloscope.markov import Event, InjectionPlan, parse_seconds, read_latencies

_NO_RANK = "nothing was injected: no rank reached MPI_Finalize with the injector loaded"


def inject(  # noqa: PLR0913 - one for each option
    command: Sequence[str],
    latency: str | Sequence[str] = (),
    *,
    once: Sequence[str | Event] = (),
    every: int | str = 1,
    excess: bool = False,
    collectives: bool = True,
    seed: int = 0,
    output: str | Path | None = None,
    mpi: Abi | None = None,
    mpi_include: Sequence[Path] = (),
    quiet: bool = False,
) -> Outcome:
    """Run a launch command whose messages arrive later.

    Args:
        command: The launch command, as a list of words.
        latency: Latency models as in `haloscope inject --latency`, for example "lognormal:200us,0.5" or
            "inter=constant:50us". Later ones replace earlier ones.
        once: Single delays, as an `Event` or as "RANK:MESSAGE:TIME[:COUNT]".
        every: Length of an instance of a regime model: a number of latencies per rank, or a time ("2ms").
        excess: Whether to inject only the excess over the mean of the model's fastest regime.
        collectives: Whether to delay collectives, too.
        output: File for one row per latency.
        seed: Seed of the random numbers.
        mpi: Binary interface of the MPI, if it is not found.
        mpi_include: Directories of `mpi.h`, if they are not found.
        quiet: Whether to suppress the message about building the injector.

    Returns:
        The outcome. Its `status` is that of `os.waitpid`; its `remarks` describe the injected latencies.

    Raises:
        UsageError: An argument is invalid.
        LaunchError: The command cannot be started.

        haloscope.inject(["mpiexec", "-n", "4", "./app"], "constant:1ms", output="injected.csv")
    """
    texts = [latency] if isinstance(latency, str) else latency
    intra, inter = read_latencies(texts, excess)
    messages, duration = read_every(str(every))
    events = [read_event(event) if isinstance(event, str) else event for event in once]
    plan = InjectionPlan(intra, inter, events, seed, messages, duration, collectives)
    return _run_injected(
        command, plan, None if output is None else Path(output), Choice(mpi, tuple(mpi_include)), quiet
    )


def _run_injected(
    command: Sequence[str], plan: InjectionPlan, record: Path | None, choice: Choice, quiet: bool
) -> Outcome:
    settings = {"HALOSCOPE_INJECT": plan.text()}
    target = find_target(command, choice, "there is nothing to inject into", quiet)
    if record is not None:
        record = prepare_latency_record(record)
        settings["HALOSCOPE_INJECT_OUTPUT"] = str(record)
    injector = build_injector(target.mpi.headers, quiet)
    with tempfile.NamedTemporaryFile(prefix="haloscope-inject-") as summary:
        settings["HALOSCOPE_INJECT_SUMMARY"] = summary.name
        try:
            outcome = Outcome(run_preloaded(target, injector, settings))
            with outcome.noting():
                if record is None:
                    outcome.remarks.append(summarise_latencies(Path(summary.name)) or _NO_RANK)
                else:
                    tables = join_latency_record(record)
                    outcome.remarks += filter(None, tables.values())
                    outcome.remarks.append(_describe_record(record) if record in tables else _NO_RANK)
        finally:
            if record is not None:
                remove_latency_parts(record)
    return outcome


def _describe_record(record: Path) -> str:
    """Return a line about the latencies in the record."""
    import polars

    latencies = polars.read_csv(record, schema_overrides={"latency": polars.Float64})["latency"]
    if not len(latencies):
        return f"{latency_text(0, '', 0)} ({record})"
    middle, most = latencies.median(), latencies.max()
    assert isinstance(middle, float)
    assert isinstance(most, float)
    return f"{latency_text(len(latencies), f'median {1e3 * middle:.3g} ms', most)}: {record}"


def read_event(text: str) -> Event:
    """Return the event of "RANK:MESSAGE:TIME" or "RANK:MESSAGE:TIME:COUNT". Raises `UsageError`."""
    parts = text.split(":")
    numbers = [part for part in [*parts[:2], *parts[3:]] if re.fullmatch(r"[0-9]{1,9}", part)]
    if not 3 <= len(parts) <= 4 or len(numbers) != len(parts) - 1:
        raise UsageError(f"--once {text!r}: not of the form 2:100:50ms or 2:100:50ms:2")
    count = int(parts[3]) if len(parts) == 4 else 1
    return Event(int(parts[0]), int(parts[1]), parse_seconds(parts[2], "--once"), count)


def read_every(text: str) -> tuple[int, float]:
    """Return the length of a model's instance: a number of latencies, and a time in seconds or 0.

    Raises:
        UsageError: The text is neither a number nor a duration.
    """
    if re.fullmatch(r"[0-9]{1,9}", text) and int(text) > 0:
        return int(text), 0.0
    if re.search(r"[a-zµμ]", text):
        return 1, parse_seconds(text, "every")
    raise UsageError(f"every {text!r}: neither a number of messages nor a duration such as 2ms")
