"""`haloscope bench p2p`."""

from __future__ import annotations

import csv
import json
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from haloscope.base.errors import OutputError
from haloscope.cli._bench_output import percentiles
from haloscope.cli._messages import say
from haloscope.cli._options import sizes

if TYPE_CHECKING:
    from haloscope.predict.bench import Failure, System
    from haloscope.predict.bench import P2pMethod as Method
    from haloscope.predict.bench import P2pPoint as Point

__all__ = ["p2p"]

_EXAMPLES = """\b
Examples:
  haloscope bench p2p
  haloscope bench p2p -m 2:2 -i 1000 -x 100
  haloscope bench p2p --test bw,bibw --pair 0,1
  haloscope bench p2p -o machine.yaml --page machine.html
  haloscope bench p2p --nodes 2 --mpiexec "mpiexec --hostfile hosts" --all-pairs -o cluster.yaml
"""
_MODELLED = ("latency", "bw", "bibw", "overhead", "reduce")


def _tests(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    from haloscope.predict.bench import P2P_TESTS as TESTS

    names = [word.strip() for word in (text or "").split(",") if word.strip()]
    if "all" in names:
        return list(TESTS)
    for name in names:
        if name not in TESTS:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(TESTS)}, all")
    return list(dict.fromkeys(names))


def _pairs(_context: click.Context, _option: click.Parameter, texts: Sequence[str]) -> list[tuple[int, int]]:
    pairs = []
    for text in texts:
        parts = text.split(",")
        if len(parts) != 2 or not all(part.strip().isdecimal() for part in parts):
            raise click.BadParameter(f"{text!r} is not like 0,8: the numbers of two cores")
        pairs.append((int(parts[0]), int(parts[1])))
    return pairs


@click.command(epilog=_EXAMPLES)
@click.option(
    "--test",
    "tests",
    callback=_tests,
    metavar="NAME[,NAME]",
    help="latency (if not said), bw, bibw, mbw_mr, overhead, reduce, all; with -o all that a model needs.",
)
@click.option(
    "-m",
    "--message-size",
    "sizes",
    callback=sizes,
    default="1:4194304",
    show_default=True,
    metavar="[MIN:]MAX|2,4096",
    help="OSU: sizes in bytes, doubled from MIN (1) to MAX.",
)
@click.option("-i", "--iterations", type=click.IntRange(1), help="OSU: measured iterations.")
@click.option("-x", "--warmup", type=click.IntRange(0), help="OSU: iterations before them.")
@click.option(
    "-W",
    "--window-size",
    "window",
    type=click.IntRange(1, 1 << 16),
    default=64,
    show_default=True,
    help="OSU: messages under way at once in bw, bibw, mbw_mr.",
)
@click.option("-c", "--validation", "check", is_flag=True, help="OSU: check what arrives.")
@click.option("-f", "--full", is_flag=True, help="OSU: minimum, maximum, iterations too.")
@click.option(
    "-z",
    "--tail-lat",
    "tails",
    callback=percentiles,
    metavar="[P1,P2]",
    is_flag=False,
    flag_value="50,90,99",
    default=None,
    help="OSU: percentiles of the times too; 50,90,99 if none are named.",
)
@click.option(
    "-T",
    "--type",
    "datatype",
    type=click.Choice(("mpi_char", "mpi_int", "mpi_float")),
    default="mpi_char",
    show_default=True,
    help="OSU: what messages are made of.",
)
@click.option(
    "-M",
    "--mem-limit",
    "memory",
    type=click.IntRange(1),
    default=1 << 29,
    show_default=True,
    metavar="BYTES",
    help="OSU: bytes that the buffers of a rank may take.",
)
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    callback=_pairs,
    metavar="CORE,CORE",
    help="Two cores instead of core 0 and one of each level; may be repeated. Cores are "
    "counted as hwloc does, through all nodes.",
)
@click.option("--all-pairs", "matrix", is_flag=True, help="The latencies of all pairs as well.")
@click.option(
    "--nodes",
    type=click.IntRange(1),
    envvar="SLURM_JOB_NUM_NODES",
    default=1,
    help="Number of nodes, all like this one; a Slurm job's own, if not said.",
)
@click.option("--mpiexec", metavar="COMMAND", help="The launcher with its options, instead of mpiexec.")
@click.option(
    "--time-limit",
    "limit",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="For each point; then the pair has failed.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("osu", "csv", "json")),
    default="osu",
    show_default=True,
    help="As OSU prints, or for programs, with every sample.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="MACHINE.yaml",
    help="Write the machine model; an existing one is replaced.",
)
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    metavar="PAGE.html",
    help="Write a page with figures of the model; an existing one is replaced.",
)
def p2p(
    tests: Sequence[str], form: str, full: bool, output: Path | None, page: Path | None, **asked: Any
) -> None:
    """Measure messages between two cores or nodes, and fit a model of the machine to them.

    By default core 0 sends to one core of each level of the topology.
    """
    from haloscope.predict.bench import Failure
    from haloscope.predict.bench import P2pMethod as Method

    names = ("iterations", "warmup", "window", "datatype", "check", "limit", "memory")
    method = Method(tuple(asked["sizes"]), **{name: asked[name] for name in names}).checked()
    _check_places(output, page)
    system = _system(asked["nodes"], asked["mpiexec"], method)
    modelled = output is not None or page is not None
    wanted = list(tests) or list(_MODELLED if modelled else ("latency",))
    chosen = [system.pair(*pair) for pair in asked["pairs"]] or system.representatives()
    kept: list[Point] = []
    failures: list[Failure] = []
    stopped = False
    header = ("", 0, 0)
    # A batch system's TERM must not leave ranks behind either.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for one in _measured(system, wanted, chosen, method, modelled, asked["matrix"]):
            if isinstance(one, Failure):
                failures.append(one)
                continue
            kept += [one]
            # Sizes that only the model asked for would stand out of order.
            if form == "osu" and one.bytes in method.sizes:
                header = _print(one, header, system, full, asked["tails"])
    except KeyboardInterrupt:
        stopped = True
        say(f"interrupted: {len(kept)} finished points are kept")
    finally:
        signal.signal(signal.SIGTERM, before)
    if form != "osu":
        _write(kept, form)
    _say_failures(failures)
    if modelled and kept:
        _write_model(system, kept, output, page)
    if stopped:
        raise KeyboardInterrupt
    if failures or any(one.valid is False for one in kept):
        raise click.exceptions.Exit(1)


def _say_failures(failures: Sequence[Failure]) -> None:
    for failure in failures:
        cores = f"core {failure.pair.first} to core {failure.pair.second}"
        say(f"{failure.test}, {cores}: {failure.reason}")


def _check_places(*files: Path | None) -> None:
    """Before minutes are spent on what cannot be written."""
    for file in filter(None, files):
        if file.is_dir() or not file.absolute().parent.is_dir():
            raise OutputError(f"{file}: cannot be written; name a file in a directory that exists")


def _system(nodes: int, mpiexec: str | None, method: Method) -> System:
    from haloscope.predict.bench import System, launcher_of, library, topology, with_switches

    launcher = launcher_of(shlex.split(mpiexec or ""))
    found = topology()
    for remark in found.remarks:
        say(remark)
    return with_switches(System(found, library(launcher), nodes, launcher), method.limit)


def _measured(
    system: System, tests: Sequence[str], pairs: Sequence[Any], method: Method, modelled: bool, matrix: bool
) -> Iterator[Point | Failure]:
    from haloscope.predict.bench import P2pPoint as Point
    from haloscope.predict.bench import all_pairs, refined
    from haloscope.predict.bench import measure_p2p as measure

    for test in tests:
        # What one core does alone is measured once.
        several = pairs[:1] if test == "reduce" else pairs
        points = []
        for one in measure(system, test, several, method):
            if isinstance(one, Point):
                points.append(one)
            yield one
        if test == "latency" and modelled:
            yield from refined(system, points, method)
    if matrix:
        yield from all_pairs(system, method)


def _print(
    point: Point, before: tuple[str, int, int], system: System, full: bool, tails: Sequence[float]
) -> tuple[str, int, int]:
    from haloscope.predict.bench import p2p_header as header
    from haloscope.predict.bench import p2p_row as row

    same = (point.test, point.pair.first, point.pair.second)
    if same != before:
        click.echo(header(point, system.library.name, full, tails))
    click.echo(row(point, full, tails))
    return same


def _write(points: Sequence[Point], form: str) -> None:
    from haloscope.predict.bench import p2p_record as record

    records = [record(point) for point in points]
    if form == "json":
        lines = ",\n ".join(json.dumps(one) for one in records)
        click.echo(f"[{lines}]")
        return
    names = ["test", "level", "first", "second", "pairs", "bytes", "batch"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*names, "side", "sample", "time"])
    for one in records:
        words = [one[name] for name in names]
        for side, key in (("first", "samples"), ("second", "receive_samples")):
            writer.writerows([*words, side, at, time] for at, time in enumerate(one[key]))


def _write_model(system: System, points: Sequence[Point], output: Path | None, page: Path | None) -> None:
    from haloscope.predict import write_machine
    from haloscope.predict.bench import machine, surroundings

    about = surroundings(system.library.name, "", {})
    cores = f"{len(system.topology.cores)} cores"
    described = {
        "description": f"{about['host']}: {system.nodes} × {cores}, {about['processor']}",
        "source": f"haloscope {about['haloscope']} bench p2p, {system.library.name}, {about['date'][:10]}",
    }
    made = machine((output or page or Path(about["host"])).stem, system, points, **described)
    if output is not None:
        write_machine(made, output, [f"Made by: {about['command']}"])
    if page is not None:
        from haloscope.predict.bench import write_p2p_page as write_page

        write_page(made, system, points, page)
