"""Error rates of `check` and `compare`, for runs of the same program and for runs that are 10 % slower.

cg, sweep, equal.c and (with --lammps INPUT) LAMMPS run on two ranks. Plain runs alternate with runs that are
a tenth slower: equal.c by a tenth more work, the others by `haloscope inject`. Programs have priority over
others if that is allowed, except with --disturbed. Trials are drawn from these real runs. In a trial, rules
are learned from plain runs, one run is checked, and further runs serve as its repetitions; no run has two
roles. With --simulated no program runs: times are log-normal with a tail of slow runs. Prints one JSON object
per line. `--keep DIR` stores the profiles, and reuses those that are in DIR.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import HALOSCOPE, MPI_ENVIRONMENT, Estimate, compile_c, emit, profiling, undisturbed
from scipy.stats import binomtest

import haloscope
from haloscope.base.launcher import report_toolchain
from haloscope.explain.checking import Detectable, find_detectable

ENVIRONMENT = MPI_ENVIRONMENT | {"OMPI_MCA_rmaps_base_oversubscribe": "1"}
SLOWER = 0.1
ALIKE, PLANTED, FOUND = 100, 20, 19  # the aims
LEARNED = 10  # runs that rules are learned from, and repetitions, if there is no --learned
SIZES = {
    "cg": "--nx 40 --ny 40 --nz 40 --iterations 500",
    "sweep": "--procs 2,1,1 --zones 24,24,24 --niter 12",
}
WORK = 10  # million additions per step of equal.c
TRIAL = 50e-6  # s, the first latency in the search for that of a tenth


@dataclass(frozen=True)
class Program:
    """A program of less than a second, with its command after the launcher."""

    name: str
    words: Sequence[str]
    slower: Sequence[str] = ()  # with a tenth more work; else latencies are injected
    prefix: Sequence[str] = ()

    def run(self, output: Path, latency: float = 0.0, words: Sequence[str] = ()) -> float:
        """Profile one run on two ranks, and return its seconds from MPI_Init to MPI_Finalize."""
        launch = [str(report_toolchain().launcher), "-n", "2", *self.prefix, *(words or self.words)]
        late = [HALOSCOPE, "inject", "--quiet", "--latency", f"constant:{1e6 * latency:.3f}us", "--"]
        command = profiling(output, launch)
        subprocess.run(
            [*(late if latency else []), *command],
            env=ENVIRONMENT,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=300,
        )
        return seconds(output)


def seconds(path: Path) -> float:
    with haloscope.open(path) as profile:
        return float(profile.table("regions")["time_mean"][0])


def program_of(name: str, options: argparse.Namespace, directory: Path) -> Program:
    """Return a program by its name, built if necessary."""
    prefix = () if options.disturbed else undisturbed()
    if name == "lammps":
        return Program(name, ["lmp", "-log", "none", "-in", str(options.lammps)], prefix=prefix)
    if name == "equal":
        program = str(directory / name)
        compile_c(Path(__file__).with_name("equal.c"), directory / name)
        return Program(name, [program, str(WORK)], [program, str((1 + SLOWER) * WORK)], prefix)
    where = subprocess.run([HALOSCOPE, "where", name], check=True, capture_output=True, text=True)
    return Program(name, [where.stdout.strip(), *SIZES[name].split()], prefix=prefix)


def measure(program: Program, directory: Path, plain: int, slow: int) -> None:
    """Record plain and slow runs alternately in a directory; profiles that exist are reused."""
    latency = 0.0 if program.slower else wanted_latency(program, directory)
    turns = [("plain", i, i * slow) for i in range(plain)] + [("slow", i, i * plain) for i in range(slow)]
    for kind, number, _ in sorted(turns, key=lambda turn: turn[2]):
        path = directory / f"{program.name}-{kind}-{number:03}.halo"
        if path.exists():
            continue
        if kind == "plain":
            program.run(path)
        else:
            program.run(path, latency, program.slower)


def wanted_latency(program: Program, directory: Path) -> float:
    """Return the latency (s) that makes the program a tenth slower: five steps with medians of nine runs."""
    kept = directory / f"{program.name}.json"
    if kept.exists():
        return float(json.loads(kept.read_text())["latency"])
    latency, trial = TRIAL, directory / f"{program.name}-trial.halo"
    for _ in range(5):
        pairs = [(program.run(trial), program.run(trial, latency)) for _ in range(9)]
        before, after = np.median(pairs, axis=0)
        # The effect of the first latency may be near zero, or many times too large.
        latency *= float(np.clip(SLOWER * before / max(after - before, 1e-9), 0.05, 20))
    trial.unlink()
    kept.write_text(json.dumps({"latency": latency}))
    return latency


def simulated(directory: Path, runs: int, spread: float, seed: int) -> None:
    """Write plain and slow runs with random times: one per region, and one tail for the whole run."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
    from support.repeated_runs import repeated_run

    random = np.random.default_rng(seed)
    for kind, factor in (("plain", 1.0), ("slow", 1 + SLOWER)):
        for number in range(runs):
            repeated_run(random, spread, factor).write(directory / f"simulated-{kind}-{number:03}.halo")


def drawn(random: np.random.Generator, paths: Sequence[Path], number: int) -> list[Path]:
    return [paths[index] for index in random.choice(len(paths), number, replace=False)]


def repetitions(paths: Sequence[Path]) -> Callable[[Path], None]:
    """Return a function that `check` calls to measure again: each call copies the next run."""
    left = iter(paths)

    def again(target: Path) -> None:
        shutil.copy(next(left), target)

    return again


def fails(
    random: np.random.Generator, plain: Sequence[Path], tried: Sequence[Path], number: int
) -> tuple[bool, Detectable]:
    """Return whether times of a run of `tried` fail rules that were learned from `number` plain runs.

    Also return the slowdown that the rules detect.
    """
    learned = drawn(random, plain, number)
    rest = [path for path in tried if path not in learned]
    first, *again = drawn(random, rest, number + 1)
    rules = haloscope.learn_rules(learned)
    found = haloscope.check(first, rules, again=repetitions(again))
    return bool(found.failures), find_detectable(rules)


def promise(stated: Sequence[Detectable]) -> str:
    """Return the slowdown that rules detect in the median of trials, or how many runs they ask for."""
    shares = [np.inf if one.share is None else one.share for one in stated]
    if np.isfinite(np.median(shares)):
        return f"it states that it finds {100 * np.median(shares):.1f} %"
    runs = [one.runs for one in stated if one.share is None]
    known = [number for number in runs if number is not None]
    asked = f"needs {np.median(known):.0f} runs" if 2 * len(known) > len(runs) else "cannot"
    return f"it states in {len(runs)} of {len(shares)} trials that it finds nothing, and {asked}"


def compared(random: np.random.Generator, plain: Sequence[Path], tried: Sequence[Path]) -> list[bool]:
    """Return whether compare reports a significant slowdown, and whether it reports any change."""
    first = drawn(random, plain, LEARNED)
    second = drawn(random, [path for path in tried if path not in first], LEARNED)
    found = haloscope.compare(first, second)
    whole = found.claims[0]
    slower = whole.sure and whole.faster[0] is not None and whole.faster[0] < 0
    return [slower, found.has_changed]


def report(case: str, hits: int, trials: int, target: float, *, wanted: bool) -> None:
    """Print how often a change was reported; the ratio is the share of correct results."""
    right = hits if wanted else trials - hits
    interval = binomtest(right, trials).proportion_ci(method="exact")
    emit(
        "explain-alike",
        case,
        ours=hits,
        peer=trials,
        peer_name="trials",
        unit="found" if wanted else "wrong",
        ratio=Estimate(right / trials, interval.low, interval.high),
        target=target,
    )


def measure_errors(name: str, directory: Path, options: argparse.Namespace) -> None:
    """Draw trials from one program's runs, and print how often a difference is reported."""
    random = np.random.default_rng(options.seed)
    plain, slow = (sorted(directory.glob(f"{name}-{kind}-*.halo")) for kind in ("plain", "slow"))
    slowed = np.median([seconds(path) for path in slow]) / np.median([seconds(path) for path in plain])
    scatter = float(np.std(np.log([seconds(path) for path in plain])))
    title = f"{name}: runs scatter by {100 * scatter:.1f} %"
    for number in options.learned or [LEARNED]:
        case = f"{title}; check by {number} runs"
        wrong = [fails(random, plain, plain, number)[0] for _ in range(options.alike)]
        report(f"{case}, alike", sum(wrong), options.alike, 1.0, wanted=False)
        found, stated = zip(
            *(fails(random, plain, slow, number) for _ in range(options.planted)), strict=True
        )
        case += f", {100 * (slowed - 1):.1f} % slower ({promise(stated)})"
        report(case, sum(found), options.planted, FOUND / PLANTED, wanted=True)
    if not options.compare:
        return
    changed = int(sum(compared(random, plain, plain)[1] for _ in range(options.alike)))
    report(f"{title}; compare, alike: any sentence", changed, options.alike, 0.95, wanted=False)
    slower = int(sum(compared(random, plain, slow)[0] for _ in range(options.planted)))
    case = f"{title}; compare, {100 * (slowed - 1):.1f} % slower: so it says"
    report(case, slower, options.planted, FOUND / PLANTED, wanted=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--spread", type=float, action="append", help="of simulated runs, such as 0.02")
    parser.add_argument("--lammps", type=Path, metavar="INPUT")
    parser.add_argument("--runs", type=int, default=50, help="plain runs of a program, and slow runs")
    parser.add_argument("--alike", type=int, default=ALIKE)
    parser.add_argument("--planted", type=int, default=PLANTED)
    parser.add_argument("--learned", type=int, action="append", help="runs that rules are learned from")
    parser.add_argument("--program", action="append", choices=[*SIZES, "equal", "lammps"])
    parser.add_argument("--disturbed", action="store_true")
    parser.add_argument("--no-compare", dest="compare", action="store_false", help="leave compare out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    options = parser.parse_args()
    if options.runs < (least := 2 * max(options.learned or [LEARNED]) + 1):
        parser.error(f"--runs: {least} or more are needed for one pair")
    with tempfile.TemporaryDirectory() as aside:
        directory = options.keep or Path(aside)
        directory.mkdir(parents=True, exist_ok=True)
        if options.simulated:
            for spread in options.spread or (0.01, 0.03):
                simulated(directory, options.runs, spread, options.seed)
                measure_errors("simulated", directory, options)
            return
        every = [*SIZES, "equal", *["lammps"] * (options.lammps is not None)]
        for name in options.program or every:
            program = program_of(name, options, directory)
            measure(program, directory, options.runs, options.runs)
            measure_errors(program.name, directory, options)


if __name__ == "__main__":
    main()
