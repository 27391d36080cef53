"""`haloscope tune`."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from haloscope.cli._messages import progress, say
from haloscope.cli._options import counts, sizes

if TYPE_CHECKING:
    from haloscope.predict.tune import Bench, Candidate, Plan, Point, Tuning, Workload

__all__ = ["tune"]

_EXAMPLES = """\b
Examples:
  haloscope bench collective bcast allreduce -n 2:8 -o sweep.jsonl
  haloscope tune sweep.jsonl -o rules.conf --page gains.html
  haloscope tune --from app-8-20260101-120000.halo -o rules.conf
  haloscope tune --machine cluster.yaml --collective bcast -n 64,128 -m 2:1048576 --no-run
"""


def _words(_context: click.Context, _option: click.Parameter, text: str | None) -> list[str]:
    return list(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


@click.command(epilog=_EXAMPLES)
@click.argument("sweep", required=False, type=click.Path(path_type=Path), metavar="[SWEEP.jsonl]")
@click.option(
    "--from",
    "profile",
    type=click.Path(path_type=Path),
    metavar="F.halo",
    help="Measure what this program uses: its collectives, sizes and communicators' sizes.",
)
@click.option(
    "--machine", metavar="NAME|FILE.yaml", help="Choose by the models that were fitted to a machine."
)
@click.option(
    "--collective",
    "collectives",
    callback=_words,
    metavar="NAME[,NAME]",
    help="With --machine: these collectives, else all that were fitted.",
)
@click.option(
    "-n",
    "--ranks",
    callback=counts,
    default="2",
    show_default=True,
    metavar="2:8|4,8",
    help="With --machine: numbers of processes.",
)
@click.option(
    "-m",
    "--message-size",
    "sizes",
    callback=sizes,
    default="1:1048576",
    show_default=True,
    metavar="[MIN:]MAX",
    help="With --machine: sizes in bytes, doubled from MIN (1) to MAX.",
)
@click.option(
    "--segment",
    "segments",
    callback=counts,
    default="0",
    metavar="BYTES[,BYTES]",
    help="With --from: segment sizes, for algorithms that cut messages; 0: the library's own.",
)
@click.option(
    "--margin",
    type=click.FloatRange(0),
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="A rule must be faster by more than this share, and a change of rule worth it.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.05,
    show_default=True,
    help="Level of the tests, after correction for their number.",
)
@click.option(
    "--rounds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Launches with the rules, and as many without, that a rule must hold in.",
)
@click.option(
    "-i",
    "--iterations",
    type=click.IntRange(10),
    default=1000,
    show_default=True,
    help="OSU: measured calls.",
)
@click.option(
    "-x",
    "--warmup",
    type=click.IntRange(0),
    default=100,
    show_default=True,
    help="OSU: calls before, which are not measured.",
)
@click.option("--map-by", "mapping", metavar="NAME", help="Mapping, in the launcher's words.")
@click.option("--mpiexec", metavar="COMMAND", help="The launcher with its options, instead of mpiexec.")
@click.option("--no-run", is_flag=True, help="Run nothing: write the choice unverified (SWEEP, --machine).")
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "csv", "json")),
    default="table",
    show_default=True,
    help="For people, or for programs.",
)
@click.option(
    "--page",
    type=click.Path(path_type=Path),
    metavar="PAGE.html",
    help="Write a page with the gains as well; an existing one is replaced.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="RULES",
    help="The rules; rules.conf (Open MPI 4, 5) or rules.json (Open MPI 6, MPICH), if not said.",
)
def tune(
    sweep: Path | None,
    profile: Path | None,
    machine: str | None,
    page: Path | None,
    form: str,
    output: Path | None,
    **asked: Any,
) -> None:
    """Choose collectives' algorithms, and write the MPI library's own rules for them.

    From a sweep of `haloscope bench collective`, from a program's profile (--from), or from a
    machine's models (--machine). A rule is written only where it is seen to take effect and to be
    faster than what the library does by itself.
    """
    from haloscope import explain
    from haloscope.predict.tune import Bench, check_output, table
    from haloscope.predict.tune import tune as tuned

    if [sweep, profile, machine].count(None) != 2:
        raise click.UsageError("name one of: a sweep, --from F.halo, --machine NAME")
    if profile and asked["no_run"]:
        raise click.UsageError("--from measures; --no-run goes with a sweep or --machine")
    work = _workload(profile) if profile else None
    bench = Bench.here(tuple(shlex.split(asked["mpiexec"] or "")), asked["mapping"])
    output = output or Path("rules" + (".conf" if bench.form == "openmpi-text" else ".json"))
    check_output(output, bench.form)
    _check_selectable(bench)
    chosen = _chosen(sweep, machine, work, bench, asked)
    plan = None if asked["no_run"] else _plan(asked)
    most = 2 * asked["rounds"] * len(chosen)
    with progress(most) if plan else nullcontext(lambda what: None) as step:
        made = tuned(bench, chosen, output, plan, step)
    rows = table(made)
    explain.render(rows, form, "tune", sys.stdout)
    _say_result(made, work, asked["no_run"])
    if page:
        from haloscope.predict.tune import write_page

        write_page(made, rows, work, page)


def _chosen(
    sweep: Path | None, machine: str | None, work: Workload | None, bench: Bench, asked: dict[str, Any]
) -> dict[Point, Candidate]:
    from haloscope.predict.bench import Sweep
    from haloscope.predict.tune import choose_from

    if machine:
        from haloscope.predict import load_machine
        from haloscope.predict.tune import choose_by_model, model_points

        described = load_machine(machine)
        points = model_points(described, asked["collectives"], asked["ranks"], asked["sizes"])
        return choose_by_model(described, points, asked["margin"])
    if work:
        measured = _measured(bench, work, asked)
    else:
        assert sweep is not None
        measured = Sweep.read(sweep)
        _check_same(sweep, measured.environment.get("library"), bench)
    return choose_from(measured, asked["margin"], asked["level"])


def _check_same(sweep: Path, library: object, bench: Bench) -> None:
    from haloscope.base.errors import RecorderError

    if library and library != bench.library.name:
        raise RecorderError(
            f"{sweep}: measured with {library}, but the mpicc in use is that of "
            f"{bench.library.name}: load the MPI that was measured, or measure this one"
        )


def _check_selectable(bench: Bench) -> None:
    from haloscope.base.errors import RecorderError

    library = bench.library
    if all(len(library.algorithms(name)) == 1 for name in library.collectives()):
        raise RecorderError(
            f"{library.name} has no algorithms to select from: is the ompi_info of this "
            "installation missing? There is nothing to tune"
        )


def _workload(profile: Path) -> Workload:
    from haloscope.predict.tune import read_workload

    return read_workload(profile)


def _measured(bench: Bench, work: Workload, asked: dict[str, Any]) -> Any:
    from haloscope.predict.tune import measure_all, steps_of_all

    points = sorted(work.calls)
    segments = asked["segments"] or [0]
    with progress(steps_of_all(bench, points, segments)) as step:
        return measure_all(bench, points, segments, _method(asked), step)


def _method(asked: dict[str, Any]) -> Any:
    from haloscope.predict.bench import CollectiveMethod as Method

    return Method(warmup=asked["warmup"], iterations=asked["iterations"])


def _plan(asked: dict[str, Any]) -> Plan:
    from haloscope.predict.tune import Plan

    return Plan(_method(asked), asked["rounds"], asked["level"])


def _say_result(made: Tuning, work: Workload | None, unverified: bool) -> None:
    from haloscope.predict.tune import program_gain, program_text, summary, usage

    say(summary(made))
    if made.problems:
        more = len(made.problems) - 1
        rest = f" (and {more} more)" if more else ""
        say(f"left to the library: {made.problems[0]}{rest}")
    if work is not None:
        say(program_text(program_gain(made, work), work))
    if not made.rules:
        say("no rule is worth it: no file is written, the library's own choice stands")
        return
    state = "not verified" if unverified else "each rule was seen to take effect"
    say(f"{made.output}: rules for {made.bench.library.name}, {state}; use them by one of:")
    collectives = sorted({point.collective for point in made.tuned})
    for line in usage(made.bench.form, made.output, collectives):
        click.echo(f"  {line}", err=True)
