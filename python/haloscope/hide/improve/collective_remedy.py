"""The remedy of collectives: rules of `haloscope tune`, measured for the program's own collectives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from haloscope.base.errors import HaloscopeError
from haloscope.base.units import noun_text, percent_text
from haloscope.hide.improve.remedy import Remedy
from haloscope.hide.improve.situation import SHARE, Situation

_SECONDS = 20.0  # for measuring algorithms
_ITERATIONS, _WARMUP = 100, 10
_COUNTS = ("n", "np", "c", "ntasks")


def tune_collectives(run: Situation, directory: Path | None) -> Iterator[Remedy]:
    """Yield rules for collectives if these take a tenth of the time.

    Rules that cannot be measured here are no remedy. `directory` gets the file of rules, and must be visible
    on all nodes; without it, nothing is measured.
    """
    from haloscope.predict.bench import CollectiveMethod
    from haloscope.predict.tune import ComparisonPlan, RuleChoice, make_settings, tune

    share = run.share("coll")
    launcher = find_launcher_words(run)
    if share < SHARE or launcher is None or directory is None:
        return
    method = CollectiveMethod(warmup=_WARMUP, iterations=_ITERATIONS)
    directory.mkdir()
    try:
        made = tune(
            run.profile.path,
            choice=RuleChoice(duration=_SECONDS),
            plan=ComparisonPlan(method, rounds=0),  # the proof is in runs of the program
            output=directory / ("rules.conf" if run.abi == "openmpi" else "rules.json"),
            launcher=launcher,
        )
    except HaloscopeError:  # no compiler, or no algorithms to select: other remedies remain
        return
    if made.rules:
        collectives = sorted({point.collective for point in made.tuned})
        why = f"{percent_text(share, 1.0)} of the time is in collectives; faster: {', '.join(collectives)}"
        variables = dict(make_settings(made.bench.form, made.output, collectives))
        name = f"{noun_text(len(made.tuned), 'rule')} for collectives"
        yield Remedy(name, why, variables, rules=("slow_algorithm",), file=made.output)


def find_launcher_words(run: Situation) -> list[str] | None:
    """Return the launcher and its options without the number of ranks, None without a single program."""
    launch = run.launch
    if launch.launcher is None or len(launch.programs) != 1:
        return None
    words = [str(launch.launcher)]
    options = iter(launch.options)
    for word in options:
        if word[:1] == "-" and word.lstrip("-") in _COUNTS:
            next(options, None)
        elif not any(word.startswith(f"--{name}=") for name in _COUNTS):
            words.append(word)
    return words
