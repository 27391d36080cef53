"""Messages that Open MPI's own monitoring counts, and those of a schedule in the same form."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from haloscope.predict.schedule import Schedule
from support.mpi import Mpi

Counts = Counter[tuple[int, int, str]]
"""Messages and bytes by source, target and either word."""
_LINE = re.compile(r"[EI]\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs")


def count_messages(
    mpi: Mpi,
    directory: Path,
    ranks: int,
    program: Sequence[str | Path],
    settings: Mapping[str, object] | None = None,
) -> Counts:
    """Run a program in a new directory, with these parameters of Open MPI, and return its messages."""
    directory.mkdir()
    parameters: dict[str, object] = {
        "pml_monitoring_enable": 1,
        "pml_monitoring_enable_output": 3,
        "pml_monitoring_filename": directory / "sent",
        "coll": "self,basic,tuned,libnbc,monitoring",
        **(settings or {}),
    }
    environment = mpi.environment({f"OMPI_MCA_{key}": str(to) for key, to in parameters.items()})
    command = [*mpi.launch(ranks), *program]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    counted: Counts = Counter()
    for file in directory.iterdir():
        for source, target, volume, messages in _LINE.findall(file.read_text()):
            counted[int(source), int(target), "messages"] += int(messages)
            counted[int(source), int(target), "bytes"] += int(volume)
    return counted


def count_scheduled(schedule: Schedule) -> Counts:
    """Return the messages and bytes of a schedule."""
    counted: Counts = Counter()
    for message in schedule.messages:
        source, target = int(message["source"]), int(message["target"])
        if source != target:
            counted[source, target, "messages"] += 1
            counted[source, target, "bytes"] += int(message["bytes"])
    return counted
