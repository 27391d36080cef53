"""How `haloscope top` looks: a list of programs, and the ranks of one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from haloscope.base.errors import printable, shorten_text
from haloscope.base.units import bytes_text, count_text, noun_text, percent_text, time_text

if TYPE_CHECKING:
    from haloscope.watch import Looking, RankNow, RunningProgram

_MOST_RANKS = 24
_MOST_NAME = 60
_WIDE = 100  # columns of a terminal that shows all
_RANK_COLUMNS = ("rank", "host", "state", "MPI", "wait", "sent/s", "messages/s", "call", "since", "region")


def print_tables(programs: Sequence[RunningProgram]) -> None:
    """Print what runs, and the ranks if it is one program."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    console.print(_screen(programs, console.width))


def refresh(looking: Looking, interval: float) -> None:
    """Refresh the table each interval, until the user or the last program ends."""
    console = Console(highlight=False)
    first = _screen(looking.programs(), console.width)
    with Live(first, console=console, auto_refresh=False, screen=True) as live:
        while True:
            time.sleep(interval)
            looking.look()
            programs = looking.programs(needed=False)
            if not programs:
                return
            live.update(_screen(programs, console.width), refresh=True)


def _screen(programs: Sequence[RunningProgram], width: int) -> Group:
    if len(programs) > 1:
        return Group(_list(programs))
    (program,) = programs
    return Group(_head(program), _ranks(program, is_narrow=width < _WIDE))


def _name(text: str) -> Text:
    return Text(printable(shorten_text(text, _MOST_NAME)))


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in titles:
        is_text = title in ("run", "program", "region", "call", "host", "state", "regions")
        is_long = title in ("program", "region", "host", "regions")
        table.add_column(title, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_long)
    return table


def _list(programs: Sequence[RunningProgram]) -> Table:
    table = _table("run", "program", "ranks", "here", "time", "MPI", "sent/s", "messages/s", "regions")
    for program in programs:
        table.add_row(
            _name(program.run),
            _name(program.any_process.program),
            str(program.any_process.size),
            str(len(program.after)),
            time_text(max(process.elapsed for process in program.after)),
            _share(program.mean("mpi")),
            bytes_text(program.total("sent")),
            count_text(program.total("messages")),
            _regions(program),
        )
    return table


def _regions(program: RunningProgram) -> Text:
    counts = Counter("/".join(process.main.region) or "<program>" for process in program.after)
    parts = [f"{name} {count}" for name, count in counts.most_common(3)]
    return Text(printable(", ".join(parts)) + (", …" if len(counts) > len(parts) else ""))


def _head(program: RunningProgram) -> Text:
    here = len(program.after)
    ranks = noun_text(program.any_process.size, "rank") + (
        "" if here == program.any_process.size else f", {here} of them here"
    )
    return Text(
        f"{printable(program.any_process.program)} (run {printable(program.run)}): {ranks}, "
        f"{time_text(max(process.elapsed for process in program.after))} since MPI_Init\n"
        f"MPI {_share(program.mean('mpi'))} of the last {time_text(program.seconds)}, "
        f"waiting {_share(program.mean('wait'))}, sent {bytes_text(program.total('sent'))}/s, "
        f"{count_text(program.total('messages'))} messages/s"
    )


def _ranks(program: RunningProgram, *, is_narrow: bool) -> Table:
    # On a narrow terminal the columns that say least leave their space to regions.
    is_single = len({process.host for process in program.after}) == 1
    absent = {*(["host"] if is_single else []), *(["messages/s"] if is_narrow else [])}
    table = _table(*(title for title in _RANK_COLUMNS if title not in absent))
    shown = program.slowest[:_MOST_RANKS] if len(program.after) > _MOST_RANKS else program.ranks
    for rank in shown:
        cells = zip(_RANK_COLUMNS, _row(rank), strict=True)
        table.add_row(*(cell for title, cell in cells if title not in absent))
    left = len(program.after) - len(shown)
    if left > 0:
        table.caption = f"the slowest {len(shown)}, which wait the least; {left} more"
    return table


def _row(rank: RankNow) -> list[Text | str]:
    process = rank.process
    call = process.main.call
    return [
        str(process.rank),
        _name(process.host),
        "finalized" if process.finalized else process.state or "?",
        _share(rank.mpi),
        _share(rank.wait),
        bytes_text(rank.sent),
        count_text(rank.messages),
        _name(call.function if call else ""),
        time_text(call.since) if call and call.since is not None else "",
        _name("/".join(process.main.region) or "<program>"),
    ]


def _share(value: float | None) -> str:
    return percent_text(value, 1.0)
