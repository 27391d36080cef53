"""`haloscope bench collective`."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from haloscope.cli._bench_output import output_options, print_sweep
from haloscope.cli._messages import progress, say
from haloscope.cli._options import counts, sizes

if TYPE_CHECKING:
    from haloscope.predict.bench import CollectiveMethod as Method
    from haloscope.predict.bench import Journal, Library

__all__ = ["collective"]

_EXAMPLES = """\b
Examples:
  haloscope bench collective allreduce
  haloscope bench collective bcast reduce -n 2:8 -m 2:1048576 -o sweep.jsonl --page sweep.html
  haloscope bench collective bcast -n 8 --algorithm default,chain --segment 0,8192,65536
  haloscope bench collective all -n 64,128 --map-by core,node --mpiexec "srun --mpi=pmix"
  haloscope bench collective barrier -n 4 --synchronisation window --precision 0.02
"""


def _words(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    return [] if "all" in words else list(dict.fromkeys(words))


def _validated(context: click.Context, _option: click.Parameter, value: int | None) -> int | None:
    if value is not None and not context.params.get("check"):
        raise click.BadParameter("goes with -c only")
    return value


@click.command(epilog=_EXAMPLES)
@click.argument("collectives", nargs=-1, required=True, metavar="COLLECTIVE…")
@click.option(
    "-n",
    "--ranks",
    callback=counts,
    metavar="2:8|4,8",
    help="Numbers of processes; as many as this machine has cores for, if not said.",
)
@click.option(
    "-m",
    "--message-size",
    "sizes",
    callback=sizes,
    default="1:1048576",
    show_default=True,
    metavar="[MIN:]MAX|2,4096",
    help="OSU: sizes in bytes, doubled from MIN (1) to MAX.",
)
@click.option(
    "-i",
    "--iterations",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="OSU: measured calls, for messages of every size.",
)
@click.option(
    "-x",
    "--warmup",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="OSU: calls before, which are not measured.",
)
@click.option("-c", "--validation", "check", is_flag=True, is_eager=True, help="OSU: check data.")
@click.option(
    "-u",
    "--validation-warmup",
    "untimed",
    type=click.IntRange(0),
    callback=_validated,
    metavar="N",
    help="OSU: calls before each measured one, with -c (5, if not said).",
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
    "--algorithm",
    "algorithms",
    callback=_words,
    metavar="all|NAME[,NAME]",
    help="The library's names, or default, its own choice; all that it has, if not said.",
)
@click.option(
    "--segment",
    "segments",
    callback=counts,
    default="0",
    metavar="BYTES[,BYTES]",
    help="Segment sizes, for algorithms that cut messages; 0: the library's own.",
)
@click.option(
    "--fanout",
    "fanouts",
    callback=counts,
    default="0",
    metavar="N[,N]",
    help="Fan-outs, for algorithms with trees or chains that have one; 0: the library's own.",
)
@click.option(
    "--map-by",
    "mappings",
    callback=_words,
    metavar="NAME[,NAME]",
    help="Mappings, in the launcher's words (core, socket, node); its own, if not said.",
)
@click.option("--mpiexec", metavar="COMMAND", help="The launcher with its options, instead of mpiexec.")
@click.option(
    "--simulate",
    "platform",
    metavar="PLATFORM",
    help="Measure SimGrid's MPI on a described network or machine, by the simulated clock.",
)
@click.option(
    "--synchronisation",
    type=click.Choice(("barrier", "window")),
    default="barrier",
    show_default=True,
    help="A barrier between calls, as OSU does, or windows of a common clock.",
)
@click.option(
    "--precision",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Stop a point when half the median's interval is at most this share of it.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence of that interval.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random order.")
@click.option("--in-order", is_flag=True, help="Measure in order, not in random order.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="For each point; what takes longer has failed, and the rest goes on.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="SWEEP.jsonl",
    help="Keep every point with its samples there at once; an unfinished sweep is continued.",
)
@output_options
def collective(collectives: Sequence[str], output: Path | None, mpiexec: str | None, **asked: Any) -> None:
    """Measure collectives with every algorithm of the MPI library, and with its own choice.

    COLLECTIVE is allgather, allgatherv, allreduce, alltoall, alltoallv, barrier, bcast, gather,
    gatherv, reduce, reduce_scatter, reduce_scatter_block, scatter, scatterv, or all.
    """
    from haloscope.predict.bench import Grid, Sweep, journal, library, surroundings, units

    launcher = tuple(shlex.split(mpiexec or ""))
    offered = _simulated(asked["platform"]) if asked["platform"] else library(launcher)
    method = _method(asked)
    cores = len(os.sched_getaffinity(0))
    grid = Grid(
        _collectives(collectives, offered),
        asked["ranks"] or [max(cores, 2)],
        asked["sizes"],
        asked["algorithms"],
        asked["segments"],
        asked["fanouts"],
        asked["mappings"] or (None,),
    )
    made = units(grid, offered, method.seed if method.order == "random" else None, bool(launcher))
    alone = bool(launcher or asked["platform"])  # cores of here say nothing
    _remark(grid.collectives, offered, max(grid.ranks), 0 if alone else cores)
    about = surroundings(
        offered.name, shlex.join(launcher) or ("smpirun" if asked["platform"] else "mpiexec"), method.words()
    )
    interrupted = False
    with journal(output, about) as kept:
        try:
            _measure(made, offered, method, kept)
        except KeyboardInterrupt:
            interrupted = True
            _say_interrupted(kept, output)
    sweep = Sweep.of(kept.environment, _asked(made, kept))
    printed = ("form", "full", "tails", "summary", "page")
    print_sweep(sweep, **{name: asked[name] for name in printed})
    _say_failures(sweep)
    if interrupted:
        raise KeyboardInterrupt


def _simulated(platform: str) -> Library:
    from haloscope.predict.simulate import SmpiLibrary, load_platform, smpirun

    smpirun()  # said before anything is compiled
    return SmpiLibrary(load_platform(platform))


def _measure(made: Sequence[Any], offered: Library, method: Method, kept: Journal) -> None:
    from haloscope.predict.bench import measure_collectives as measure

    # A batch system's TERM must not leave ranks behind either.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress(sum(len(unit.sizes) for unit in made)) as step:
            measure(made, offered, method, kept, step)
    finally:
        signal.signal(signal.SIGTERM, before)


def _asked(made: Sequence[Any], kept: Journal) -> list[Any]:
    """Of all that the journal holds, what was asked for now."""
    from haloscope.predict.bench import identity

    keys = (identity(unit.point(size)) for unit in made for size in unit.sizes)
    return [kept.points[key] for key in keys if key in kept.points]


def _method(asked: dict[str, Any]) -> Method:
    from haloscope.predict.bench import CollectiveMethod as Method

    untimed = 5 if asked["untimed"] is None else asked["untimed"]
    return Method(
        synchronisation=asked["synchronisation"],
        warmup=asked["warmup"],
        iterations=asked["iterations"],
        type=asked["datatype"].removeprefix("mpi_"),
        validate=untimed if asked["check"] else None,
        confidence=asked["confidence"],
        precision=asked["precision"],
        order="given" if asked["in_order"] else "random",
        seed=asked["seed"],
        time_limit=asked["time_limit"],
    )


def _collectives(asked: Sequence[str], offered: Library) -> list[str]:
    words = [word.strip().lower() for text in asked for word in text.split(",")]
    return list(offered.collectives() if "all" in words else dict.fromkeys(words))


def _remark(collectives: Sequence[str], offered: Library, ranks: int, cores: int) -> None:
    if all(len(offered.algorithms(name)) == 1 for name in offered.collectives()):
        say(f"{offered.name} cannot be asked for its algorithms: only its own choice is measured")
    else:
        alone = [name for name in collectives if len(offered.algorithms(name)) == 1]
        if alone:
            say(f"{offered.name} has one way only of {', '.join(alone)}: measured as default")
    if cores and ranks > cores:
        say(f"{ranks} processes share {cores} cores here: such times say little")


def _say_interrupted(kept: Journal, output: Path | None) -> None:
    where = f"are in {output}; the same command goes on" if output else "follow"
    say(f"interrupted: {len(kept.points)} finished points {where}")


def _say_failures(sweep: Any) -> None:
    failed = sweep.points.filter(sweep.points["status"].is_in(["failed", "timeout"]))
    if len(failed):
        first = failed.row(0, named=True)
        say(
            f"{len(failed)} of {len(sweep.points)} points failed, the first of them "
            f"{first['collective']} {first['algorithm']} of {first['bytes']} B on "
            f"{first['ranks']} ranks: {first['reason']}"
        )
