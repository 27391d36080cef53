"""Comparison of all policies under the injector's distributions, in virtual time and on two ranks.

As a program, `policies.py docs/explanation/policies-measured.md` writes the tables to that page. As a topic
of the benchmark it runs the chain of cells (toy.c) with the same distributions. It prints the time of its
steps divided by that of a perfect schedule, and the same in virtual time: the ratio is 1 if both agree.
Values are medians of runs, each with different latencies.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import numpy as np  # noqa: E402
import programs  # noqa: E402
from common import Estimate, emit, estimate, put_between  # noqa: E402
from hidden import chain, policy_words, run  # noqa: E402
from virtual import LAWS, POLICIES, POLLS, STAY, Simulation, Steps, word  # noqa: E402

BENCHMARK = "overlap"
SEEDS, ROUNDS = 9, 5
CHEAP, EXPENSIVE = 2e-4, 1e-2  # a poll, in units of the work
DEADLINE = 1.1
NEAR = 0.01  # of the perfect time: difference within which policies are equally good
COLUMNS = (*((name, CHEAP) for name in POLICIES), *((name, EXPENSIVE) for name in POLLS))
WHICH = {
    "output": "contributions late, by 0.7 of the work",
    "both": "input and contributions late, by 0.4 each",
}
# By law and late messages, then by policy and the cost of a poll.
Found = Mapping[tuple[str, str], Mapping[tuple[str, float], Sequence[Steps]]]
REAL = (*((law, "output") for law in LAWS), ("model", "both"))


def _real(law: str, late: str) -> list[str]:
    return [name for name in POLICIES if name != "regimes" or (law, late) == ("model", "both")]


def _case(law: str, late: str, name: str) -> str:
    return f"steps over a perfect schedule's, {law}, {WHICH[late].partition(',')[0]}: {name}"


CASES = tuple(_case(law, late, name) for law, late in REAL for name in _real(law, late))


def measure() -> None:
    simulation, words = Simulation(programs.virtual()), chain()
    work = float(np.median([np.median(run([*words, "policy=0"]).work) for _ in range(3)]))
    for law, late in REAL:
        names = _real(law, late)
        took: dict[str, list[float]] = {name: [] for name in names}
        with tempfile.TemporaryDirectory() as directory:
            latency = word(law, late, work, Path(directory))
            for seed in range(ROUNDS):
                for name in names:
                    took[name].append(_took([*words, *policy_words(name, work)], late, latency, seed, work))
        for name in names:
            modelled = np.median([1 + simulation(law, late, name, CHEAP, seed).excess for seed in range(3)])
            emit(
                BENCHMARK,
                _case(law, late, name),
                ours=float(np.median(took[name])),
                peer=float(modelled),
                peer_name="virtual time",
                unit="times",
                ratio=estimate(modelled / np.array(took[name])),
            )


def _took(words: Sequence[str], late: str, latency: str, seed: int, work: float) -> float:
    """Return all steps' time over that of a perfect schedule, on two ranks."""
    quick = [f"quick_input={int(late == 'output')}", f"late={0.7 * work}", f"stay={STAY}"]
    steps = run([*words, *quick], None if latency == "none" else latency, seed)
    return float(steps.seconds.sum() / np.maximum(steps.work, steps.late).sum())


def tables(simulation: Simulation, seeds: int = SEEDS) -> str:
    """Return the page's tables, with `seeds` runs per cell."""
    found = {
        (law, late): {
            column: [simulation(law, late, column[0], column[1], seed) for seed in range(seeds)]
            for column in COLUMNS
        }
        for late in WHICH
        for law in LAWS
    }
    parts = [
        "Steps are longer than those of a perfect schedule, by %:\n",
        *_table(found, lambda steps: 100 * steps.excess),
        f"\nOf the steps that a perfect schedule ends within {DEADLINE:g} of the work, these do not, in %:\n",
        *_table(found, lambda steps: 100 * steps.missed(DEADLINE)),
    ]
    return "\n".join(parts)


def _table(found: Found, value: Callable[[Steps], float]) -> Iterator[str]:
    names = [name if price == CHEAP else f"{name}, slow polls" for name, price in COLUMNS]
    yield f"| law | {' | '.join(names)} |"
    yield "| --- |" + " --- |" * len(names)
    for late, title in WHICH.items():
        yield f"| *{title}* |" + " |" * len(names)
        for law in LAWS:
            cells = [estimate([value(steps) for steps in runs]) for runs in found[law, late].values()]
            yield f"| `{law}` | {' | '.join(_cells(cells))} |"


def _cells(row: Sequence[Estimate]) -> Iterator[str]:
    """Yield medians and half their intervals; the best and all that are equally good are bold."""
    best = min(cell.median for cell in row)
    for cell in row:
        half = (cell.high - cell.low) / 2
        text = f"{cell.median:.1f}" + (f" ± {half:.1f}" if half >= 0.05 else "")
        yield f"**{text}**" if cell.median <= best + 100 * NEAR else text


if __name__ == "__main__":
    put_between(Path(sys.argv[1]), "policies", f"\n{tables(Simulation(programs.virtual()))}\n\n")
