"""Build the source archive, and a wheel with preloaded libraries for the MPIs of this machine:

    [HALOSCOPE_SBOM=FILE] python tools/wheel.py DIRECTORY [LIBRARY...]

`make wheel` calls it. From one commit, compiler and set of MPIs come the same bytes each time. With
CXX=aarch64-linux-gnu-g++ (`make wheel-aarch64`) the wheel is for that processor. It contains the bill of
materials FILE, which `make release` writes.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

from scikit_build_core.build import build_sdist, build_wheel

import prebuild
from haloscope.base.prebuilt import DESCRIPTION

CHECKOUT = prebuild.CHECKOUT


def main() -> None:
    """Entry point of the command."""
    target, *words = sys.argv[1:]
    directory, prebuilt = Path(target).resolve(), CHECKOUT / "build" / "prebuilt"
    bill = Path(os.environ["HALOSCOPE_SBOM"]).resolve() if "HALOSCOPE_SBOM" in os.environ else None
    directory.mkdir(parents=True, exist_ok=True)
    os.chdir(CHECKOUT)
    os.umask(0o022)
    # These libraries also run with older C libraries, so the usual cache must not contain them.
    os.environ["HALOSCOPE_OLDER_GLIBC"] = "1"
    processor = prebuild.cross().partition("-")[0] or platform.machine()
    os.environ["HALOSCOPE_CACHE"] = str(CHECKOUT / "build" / f"wheel-cache-{processor}")
    prebuild.fill(prebuilt, words)
    described = [json.loads(path.read_text()) for path in prebuilt.glob(f"*/{DESCRIPTION}")]
    newest = max(tuple(description["glibc"]) for description in described)
    git = ["git", "log", "-1", "--format=%ct"]
    commit = subprocess.run(git, capture_output=True, text=True, check=True)
    os.environ["SOURCE_DATE_EPOCH"] = commit.stdout.strip()
    # The build backend does not know which C library the files of the wheel need.
    os.environ["_PYTHON_HOST_PLATFORM"] = "manylinux_{}_{}_{}".format(*newest, processor)
    print(directory / build_sdist(str(directory)))
    settings: dict[str, str | list[str]] = {
        "wheel.reproducible": "true",  # who builds a wheel by other means may have an older scikit-build-core
        "cmake.define.HALOSCOPE_PREBUILT": str(prebuilt),
    }
    if bill:
        settings["cmake.define.HALOSCOPE_SBOM"] = str(bill)
    if prebuild.cross():
        system = {"SYSTEM_NAME": "Linux", "SYSTEM_PROCESSOR": processor}
        settings |= {f"cmake.define.CMAKE_{name}": value for name, value in system.items()}
    wheel = directory / build_wheel(str(directory), settings)
    with zipfile.ZipFile(wheel) as archive:
        found = max(prebuild.glibc_in(archive.read(name)) for name in archive.namelist())
    if found > newest:
        sys.exit(f"{wheel}: its kernels need glibc {found[0]}.{found[1]}, newer than its name says")
    print(wheel)


if __name__ == "__main__":
    main()
