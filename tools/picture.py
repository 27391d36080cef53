"""Take the pictures in docs/pictures: `.venv/bin/python tools/picture.py [HPCG]`, set up by `make test`.

`report.png`: the page of the demo's program, run for a second, in headless Chromium. `regimes.png`: the page
about synthetic times of two methods, like those of the paper's Table 1. `gallery-*.png`: parts of pages of
other runs. Times are of two ranks on two cores, counts of eight ranks, and scaling of runs that SimGrid
simulates. LAMMPS is profiled if it is installed, and HPCG if its file is named. Without them their pictures
stay as they are. `tutorial-timeline.png`: the program of the first tutorial.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
HALOSCOPE = Path(sys.executable).with_name("haloscope")
MELT = """units lj
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
run 200
"""
AMR = """--npx 2 --nx 10 --ny 10 --nz 10 --num_vars 20 --num_tsteps 20 --num_refine 2 --lb_opt 0
--object 3 0 0.2 0.5 0.5 0 0 0 0.15 0.15 0.15 0 0 0"""  # for a second
SIMULATED = (8, 12, 18, 27, 36)  # ranks
WIDTH, HEIGHT = 1360, 1000


def profiled(directory: Path, ranks: int, program: str | Path, words: str, *options: str) -> Path:
    """The profile of a run, on more ranks than this machine may have cores."""
    polite = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    # A link, so that the page shows a short command.
    link, profile = directory / Path(program).name, directory / f"{Path(program).name}-{ranks}.halo"
    if not link.is_symlink():
        link.symlink_to(program)
    launch = ["mpiexec", "-n", str(ranks), f"./{link.name}", *words.split()]
    command: list[str | Path] = [HALOSCOPE, "run", *options, "-o", profile, "--", *launch]
    subprocess.run(command, cwd=directory, env={**os.environ, **polite}, check=True)
    return profile


def bundled(name: str) -> str:
    """The file of a bundled application."""
    return subprocess.check_output([HALOSCOPE, "where", name], text=True).strip()


def report(directory: Path, *profiles: Path) -> Path:
    """The page about profiles."""
    page = directory / f"{profiles[0].stem}.html"
    subprocess.run([HALOSCOPE, "report", *profiles, "-o", page], check=True)
    return page


def simulated(directory: Path, ranks: int) -> Path:
    """The profile of cg on a simulated torus, which times messages alone."""
    profile = directory / f"cg-{ranks}.halo"
    command: list[str | Path] = [HALOSCOPE, "simulate", "--platform", "torus", "-n", str(ranks)]
    command += ["--compute-factor", "0", "--collectives", "smpi", "-o", profile, "--"]
    subprocess.run([*command, "cg", *"--nx 24 --ny 24 --nz 24 --iterations 5".split()], check=True)
    return profile


def gallery(directory: Path, hpcg: Path | None) -> None:
    """Photograph pages of programs that have little in common."""
    cube = "--procs 2,1,1 --zones 32,32,32 --groups 32 --quad 64 --gset 16 --dset 8 --niter 15"
    photograph(
        report(directory, profiled(directory, 2, bundled("sweep"), cube, "--trace")),
        "gallery-sweep.png",
        "timeline",
    )
    cg = profiled(directory, 2, bundled("cg"), "--iterations 50")
    photograph(report(directory, cg), "gallery-cg.png", "time-plot", is_alone=True)
    counts = [simulated(directory, ranks) for ranks in SIMULATED]
    photograph(report(directory, *counts), "gallery-scaling.png", "sections")
    if lammps := shutil.which("lmp"):
        (directory / "in.melt").write_text(MELT, encoding="ascii")
        profile = profiled(directory, 8, lammps, "-in in.melt -log none")
        photograph(report(directory, profile), "gallery-lammps.png", "matrix-plot", is_alone=True)
    if hpcg:
        profile = profiled(directory, 8, hpcg.absolute(), "--nx=24 --ny=24 --nz=24 --rt=1")
        photograph(report(directory, profile), "gallery-hpcg.png", "matrix-plot", is_alone=True)


def tutorial(directory: Path) -> None:
    """Photograph the timeline of the program in the first tutorial."""
    text = (ROOT / "docs" / "tutorial" / "slow-rank.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"^```c\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (directory / "triples.c").write_text(source, encoding="utf-8")
    program = directory / "build" / "triples"
    program.parent.mkdir()
    include = subprocess.check_output([HALOSCOPE, "where", "include"], text=True).strip()
    words: list[str | Path] = ["mpicc", "-O2", "-g", directory / "triples.c", "-o", program, f"-I{include}"]
    subprocess.run(words, check=True)
    profile = profiled(directory, 2, program, "", "--trace", "--callsites")
    photograph(report(directory, profile), "tutorial-timeline.png", "timeline", is_alone=True)


def regimes(directory: Path) -> Path:
    """The page that compares two methods, of times from tests/support/timings.py."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.timings import make_timings

    names = ("fixed", "dynamic")
    files = [make_timings(name, 128, 2048).save(directory / f"{name}.npz") for name in names]
    page = directory / "regimes.html"
    command: list[str | Path] = [HALOSCOPE, "regimes", *files, "--emission", "lognormal"]
    subprocess.run([*command, "-o", page], check=True)
    return page


def photograph(page: Path, name: str, first: str | None = None, is_alone: bool = False) -> None:
    """A screenful, as large as a README shows it, from the section `first` on; or that section alone."""
    chromium = shutil.which("chromium") or sys.exit("no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        view.set_default_timeout(300_000)  # milliseconds: a busy machine
        view.goto(page.as_uri())
        view.locator("[data-waiting='0']").wait_for(state="attached")
        view.wait_for_timeout(1000)  # the plots draw themselves after loading
        command = view.locator("#command")
        if command.count():  # without the directories of this machine
            command.evaluate("shown => shown.textContent = shown.textContent.replace(/\\/\\S*\\//g, '')")
        part = f"#{first}:not(.pair #{first}, section #{first}), section:has(#{first}), .pair:has(#{first})"
        if first is None:
            view.screenshot(path=PICTURES / name)
        elif is_alone:
            view.locator(part).first.screenshot(path=PICTURES / name)
        else:
            view.locator(part).first.evaluate("part => part.scrollIntoView()")
            view.screenshot(path=PICTURES / name)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        photograph(report(here, profiled(here, 2, bundled("amr"), AMR)), "report.png")
        photograph(regimes(here), "regimes.png", "heat")
        tutorial(here)
        gallery(here, Path(sys.argv[1]) if len(sys.argv) > 1 else None)
