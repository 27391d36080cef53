"""The paper's sections 4.1 to 4.4 from the results of benchmarks/hide/run.py: a page, and tables.

    figures.py [RESULTS] -o PAGE.html [--runs N] [--matvecs N] [--ranks N]

Tables are printed as Markdown. All results are simulated, as each caption states.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cells
import own_figures
import study
import tables
from scenario import SCENARIOS
from study import Method

from haloscope.explain import page, write_page
from haloscope.markov.figures import (
    Section,
    TimeUnit,
    boxes,
    functional_boxes,
    heat_maps,
    median_densities,
    median_ranks,
    slowest_ranks,
    sums,
    values,
)

SCRIPTS = ("sections.js", "regimes.js")
MS = TimeUnit(1e-3, "ms")
PAPERS = ("fixed", "dynamic", "test")  # the three methods of the paper
NAMES = {"cg": "CG", "gmg": "GMG-CG"}


def named(section: Section | None, name: str, suffix: str) -> list[Section]:
    """Return the section with `name` added to its name, and `suffix` to its title and captions."""
    if section is None:
        return []
    figures = [replace(one, caption=f"{one.caption} {suffix}") for one in section.figures]
    return [
        replace(section, name=f"{section.name}-{name}", title=f"{section.title}: {suffix}", figures=figures)
    ]


def of_solver(solver: str, found: Sequence[Method], suffix: str) -> list[Section]:
    """Return Figures 1, 2, 6 to 11 for one solver."""
    few = [method for method in found if method.name in PAPERS]
    views, every = [method.view for method in few], [method.view for method in found]
    suffix = f"{NAMES[solver]}, {suffix}"
    made = named(values(views, ("T_in", "T_out"), MS), solver, suffix)
    caption = "MatVecs of the fastest run; in virtual time ten per rank. Paper: Figure 7, bottom."
    made += named(own_figures.histogram(few, MS, "Times of MatVecs", caption), solver, suffix)
    for section in (
        heat_maps(views),
        median_ranks(views, MS),
        boxes(every, MS),
        sums(every),
        median_densities(views, MS),
    ):
        made += named(section, solver, suffix)
    for section in functional_boxes(views, MS):
        made += named(section, solver, suffix)
    return made


def sections(todo: Sequence[cells.Cell], results: Path) -> tuple[list[Section], tables.Found]:
    """Return the sections of all cells that have results, and the results for tables."""
    found = {
        key: study.methods([c for c in todo if (c.scenario, c.solver) == key], results)
        for key in sorted({(cell.scenario, cell.solver) for cell in todo})
    }
    found = {key: value for key, value in found.items() if value}
    one = todo[0]
    origin = f"simulated, {one.ranks} ranks, {one.matvecs} MatVecs"
    made = []
    table1 = {s: found["table1", s] for s in cells.SOLVERS if ("table1", s) in found}
    if table1:
        caption = f"Mean α of each rank in the fastest run ({origin}). Paper: Figure 4."
        names = {NAMES[solver]: value for solver, value in table1.items()}
        made.append(own_figures.final_alphas(names, caption))
        for method in table1.get("cg", []):
            if method.name in PAPERS:
                caption = (
                    "The rank of median time; waits shorter than 1 µs are drawn at 1 µs;"
                    f" blue: excess, black: ε, red: mean ({origin})."
                    " Paper: Figure 5."
                )
                section = own_figures.waits(method, TimeUnit(1e-6, "µs"), caption)
                made.append(replace(section, name=f"waits-{method.name}"))
    for solver, value in table1.items():
        made += of_solver(solver, value, f"scenario table1, {origin}")
    for scenario in ("event", "quiet", "independent"):
        if (scenario, "cg") in found:
            views = [m.view for m in found[scenario, "cg"]]
            few = [v for v in views if v.name in PAPERS]
            where = f"CG, scenario {scenario}, {origin}"
            made += named(slowest_ranks(few, MS), scenario, where)
            made += named(sums(few), scenario, where) + named(boxes(views, MS), scenario, where)
    swept = study.swept(results)
    caption = (
        "Percent less T^max (median) than with fixed ½; simulated, scenario quiet, CG, 1.15e-7 s per element."
    )
    made.append(own_figures.sweep(swept, caption))
    return made, tables.Found(found, swept)


def write(made: Sequence[Section], output: Path, about: str) -> None:
    """Write one self-contained page."""
    title = "Hiding communication: the study"
    data = {
        "title": title,
        "about": about,
        "notes": [],
        "figures": [],
        "sections": [section.as_json(in_study=True) for section in made],
    }
    write_page(page("regimes.html", f"{title} – Haloscope", SCRIPTS, data), output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("results", type=Path, nargs="?", default=cells.HERE.parents[1] / "build" / "hide")
    add("-o", "--output", type=Path, required=True, metavar="PAGE.html")
    add("--runs", type=int, default=3)
    add("--matvecs", type=int, default=2048)
    add("--ranks", type=int, default=1792)
    options = parser.parse_args()
    every = tuple(SCENARIOS)
    todo = list(cells.study(every, cells.SOLVERS, options.runs, options.ranks, options.matvecs))
    made, found = sections(todo, options.results)
    write(made, options.output, f"{options.ranks} simulated ranks")
    print(tables.markdown(found))


if __name__ == "__main__":
    main()
