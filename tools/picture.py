"""Take the pictures in docs/pictures: `.venv/bin/python tools/picture.py`, set up by `make test`.

`report.png`: watches the bundled sweep as the tutorial does, and photographs its report in headless
Chromium. `regimes.png`: the same of the page about made-up times of two methods, like those of the
paper's Table 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
HALOSCOPE = Path(sys.executable).with_name("haloscope")
SWEEP = "--procs 2,2,2 --zones 32,64,64 --groups 32 --quad 64 --gset 16 --dset 8 --niter 10"


def report(directory: Path) -> Path:
    """The page of a run on eight ranks, more than this machine may have cores."""
    polite = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    environment = {**os.environ, **polite}
    # A link, so that the page shows a short command.
    sweep = subprocess.check_output([HALOSCOPE, "where", "sweep"], text=True).strip()
    (directory / "sweep").symlink_to(sweep)
    launch = ["mpiexec", "-n", "8", "./sweep", *SWEEP.split()]
    profile, page = directory / "sweep.halo", directory / "sweep.html"
    watch: list[str | Path] = [HALOSCOPE, "run", "-o", profile, "--", *launch]
    subprocess.run(watch, cwd=directory, env=environment, check=True)
    subprocess.run([HALOSCOPE, "report", profile, "-o", page], check=True)
    return page


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


def photograph(page: Path, name: str, first: str | None = None) -> None:
    """A screenful, as large as a README shows it, from the section `first` on."""
    chromium = shutil.which("chromium") or sys.exit("no chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1360, "height": 1000})
        view.goto(page.as_uri())
        view.locator("[data-waiting='0']").wait_for(state="attached")
        view.wait_for_timeout(1000)  # the plots draw themselves after loading
        if first is not None:
            view.evaluate(f"document.getElementById('{first}').scrollIntoView()")
        view.screenshot(path=PICTURES / name)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        photograph(report(Path(directory)), "report.png")
        photograph(regimes(Path(directory)), "regimes.png", "heat")
