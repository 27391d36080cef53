"""`haloscope inject`: run a command whose messages take longer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path

from haloscope._errors import LaunchError, UsageError
from haloscope.hide._injector import build_injector
from haloscope.hide._plan import Plan
from haloscope.watch._child import run_child
from haloscope.watch._environment import (
    earlier_preload,
    forwarded,
    launched,
    recorder_environment,
)
from haloscope.watch._launch import parse, resolve
from haloscope.watch._mpi import detect
from haloscope.watch._run import Choice

__all__ = ["Injection", "inject"]

_HEADER = "rank,time,what,partner,tag,link,regime,machine_state,once,latency"  # as journal.cpp's


@dataclass
class Injection:
    """How the command ended: `waitpid`'s status, and remarks for a person."""

    status: int
    remarks: list[str] = field(default_factory=list)


def inject(
    command: Sequence[str],
    plan: Plan,
    record: Path,
    choice: Choice,
    quiet: bool = False,
) -> Injection:
    """Run a command with the injector in its ranks; raises only if nothing was started.

    `haloscope run … -- COMMAND` may be what is run: the recorder is put before what is preloaded.
    """
    text = plan.text()
    if resolve(command[0]) is None:
        raise LaunchError(f"{command[0]}: no such command; nothing was started")
    inner = _inside(command)
    launch = parse(inner)
    mpi = detect(launch, choice.abi, choice.include)
    if mpi is None:
        raise LaunchError(f"{inner[0]} links no MPI: there is nothing to inject into")
    record = _writable(record)
    injector = build_injector(mpi.headers, quiet)
    settings = {"HALOSCOPE_INJECT": text, "HALOSCOPE_INJECT_RECORD": str(record)}
    variables = recorder_environment(mpi, injector, settings, earlier_preload(launch, os.environ))
    if len(inner) < len(command):  # it forwards LD_PRELOAD itself, merged with its own
        names = {name: variables[name] for name in settings}
        complete = {**os.environ, **variables, **forwarded(names, os.environ)}
        outcome = Injection(run_child(command, complete))
    else:
        changed, environment = launched(launch, mpi, variables, os.environ)
        outcome = Injection(run_child(changed.command, environment))
    _put_together(record)
    outcome.remarks.append(_summary(record))
    return outcome


def _inside(command: Sequence[str]) -> Sequence[str]:
    """The launch command behind `haloscope run …`."""
    if Path(command[0]).name != "haloscope":
        return command
    rest = command[1:]
    if rest[:1] != ("run",) or "--" not in rest or rest[-1] == "--":
        raise UsageError("only haloscope run … -- COMMAND can be run by haloscope inject")
    return rest[rest.index("--") + 1 :]


def _writable(record: Path) -> Path:
    """An absolute path that holds nothing; raises before anything is started."""
    path = record.absolute()
    try:
        for part in _parts(path):
            part.unlink()
        path.unlink(missing_ok=True)
        path.touch()
        path.unlink()
    except OSError as error:
        raise LaunchError(
            f"{path}: can't be written ({error.strerror}); name another with -o"
        ) from None
    return path


def _parts(record: Path) -> list[Path]:
    """What ranks that had no MPI_Finalize to send it in have left beside the record, by rank."""
    beside = record.parent.glob(f"{escape(record.name)}.*")
    numbered = [path for path in beside if path.suffix[1:].isdigit()]
    return sorted(numbered, key=lambda path: int(path.suffix[1:]))


def _put_together(record: Path) -> None:
    """Adds what ranks have left to the record."""
    parts = _parts(record)
    if parts and not record.exists():
        record.write_text(f"{_HEADER}\n", encoding="utf-8")
    for part in parts:
        with record.open("ab") as file:
            file.write(part.read_bytes())
        part.unlink()


def _summary(record: Path) -> str:
    """One line about what was injected."""
    if not record.is_file():
        return "nothing was injected: no rank came to MPI_Finalize with the injector in it"
    import polars

    latencies = polars.read_csv(record, schema_overrides={"latency": polars.Float64})["latency"]
    if not len(latencies):
        return f"nothing was injected: no message between ranks was received ({record})"
    middle = latencies.median()
    most = latencies.max()
    assert isinstance(middle, float)
    assert isinstance(most, float)
    return (
        f"injected {len(latencies)} latencies, median {1e3 * middle:.3g} ms, "
        f"longest {1e3 * most:.3g} ms: {record}"
    )
