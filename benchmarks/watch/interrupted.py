"""How often the summary of a healthy run that was interrupted blames ranks for it.

    interrupted.py [--runs 200] [--lammps COMMAND]

Runs of bundled applications on two to four ranks, with the MPI whose mpicc is first on PATH, end at random
times: by SIGINT or SIGTERM to their process group or to `haloscope run`, by a time limit, or as one rank is
killed. `--lammps` adds one of LAMMPS. Prints each line that gives a reason, and a JSON object with the number
of runs, partial profiles, reasons, and runs that did not end. The exit status is 1 if a reason was given, or
a run did not end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import SHARED_CORES, melt_of, profiling

from haloscope.base.building import build_application
from haloscope.base.launcher import report_toolchain

# Options with which an application does not end, for a number of ranks.
APPLICATIONS = {
    "cg": "--nx 24 --iterations 100000000",
    "amr": "--npx {ranks} --num_tsteps 1000000",
    "hydro": "-tf 1000000",
    "sweep": "--procs {ranks},1,1 --niter 100000000",
}
WAYS = ("INT to group", "TERM to group", "TERM to run", "time limit", "a rank is killed")
FIRST, LAST = 0.1, 2.0  # seconds from the begin of recording to the end
START = 2.0  # seconds that a start may take, for the time limit
LONGEST = 60.0  # seconds in which an interrupted run has to end
# Words of the verdicts, none of which is right for a healthy run.
REASON = re.compile(
    "deadlock|different collectives|no rank sends|waits? for itself|will not|the message of|without"
    "|is dead|are dead"
)


def end(job: subprocess.Popen[str], way: str, program: Path, choose: random.Random) -> None:
    """End the run as `way` says; a time limit is in its command."""
    if way == "INT to group":
        os.killpg(job.pid, signal.SIGINT)
    elif way == "TERM to group":
        os.killpg(job.pid, signal.SIGTERM)
    elif way == "TERM to run":
        job.send_signal(signal.SIGTERM)
    elif way == "a rank is killed":
        ranks = [number for number in processes_of(job.pid) if runs(number, program)]
        os.kill(choose.choice(ranks) if ranks else job.pid, signal.SIGKILL if ranks else signal.SIGTERM)


def processes_of(session: int) -> list[int]:
    done = subprocess.run(["pgrep", "-s", str(session)], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def runs(number: int, program: Path) -> bool:
    try:
        return Path(f"/proc/{number}/exe").resolve() == program.resolve()
    except OSError:
        return False


def interrupt(command: list[str], way: str, scratch: Path, choose: random.Random) -> tuple[str, bool]:
    """Run a command and end it; return what the profile says of its ranks, and whether the run ended."""
    limit = ["timeout", f"{START + choose.uniform(FIRST, LAST):.2f}"] if way == "time limit" else []
    ranks = str(choose.choice((2, 3, 4)))
    launch = [
        *limit,
        str(report_toolchain().launcher),
        "-n",
        ranks,
        *(word.format(ranks=ranks) for word in command),
    ]
    live = scratch / "live"
    live.mkdir(exist_ok=True)
    with subprocess.Popen(
        profiling(scratch / "x.halo", launch, quiet=False),
        env=SHARED_CORES | {"HALOSCOPE_LIVE": str(live)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as job:
        while len(list(live.glob("*/*.live"))) < int(ranks):
            if job.poll() is not None:
                if limit:  # the start took too long
                    return "", True
                raise SystemExit(f"{' '.join(command)}: ended by itself: {job.communicate()[1]}")
            time.sleep(0.05)
        time.sleep(choose.uniform(FIRST, LAST))
        end(job, way, Path(command[0]), choose)
        try:
            _, output = job.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            for number in processes_of(job.pid):
                os.kill(number, signal.SIGKILL)
            return "", False
    return next((line for line in output.splitlines() if line.startswith("partial")), ""), True


def main() -> int:
    """Interrupt programs in turn, each in a random way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--lammps", help="LAMMPS of this MPI")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    choose = random.Random(options.seed)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        programs = [[str(build_application(app)), *words.split()] for app, words in APPLICATIONS.items()]
        if options.lammps:
            (scratch / "in.melt").write_text(melt_of(1_000_000))
            programs.append([options.lammps, "-in", str(scratch / "in.melt"), "-log", "none"])
        for number in range(options.runs):
            command, way = programs[number % len(programs)], choose.choice(WAYS)
            line, has_ended = interrupt(command, way, scratch, choose)
            has_reason = REASON.search(line) is not None
            found.update(partial=bool(line), reasons=has_reason, hung=not has_ended)
            if has_reason or not has_ended:
                row = {"program": Path(command[0]).name, "way": way, "ended": has_ended, "said": line}
                print(json.dumps(row), flush=True)
    print(json.dumps({"runs": options.runs, **found, "load": os.getloadavg()[0]}))
    return 1 if found["reasons"] or found["hung"] else 0


if __name__ == "__main__":
    sys.exit(main())
