"""`haloscope top --hang`: the roll-call of each program that runs, with the stacks of those it turns on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haloscope.base.units import ranks_text
from haloscope.watch._live import Process
from haloscope.watch._rates import Running
from haloscope.watch._roll_call import RollCall
from haloscope.watch._stacks import Resolver, Stack, ask, plain
from haloscope.watch._top import Looking

__all__ = ["Told", "roll_calls", "tell"]

_MOST_ASKED = 4
_MOST_FRAMES = 24


@dataclass(frozen=True)
class Told:
    """The roll-call of one program, and the stacks of ranks that the others wait for."""

    run: str
    program: str
    ranks: int
    roll: RollCall
    stacks: tuple[tuple[Stack, tuple[str, ...]], ...] = ()

    @property
    def text(self) -> str:
        """The verdict, the roll, the stacks: lines."""
        lines = [f"{self.program} (run {self.run}, {self.ranks} ranks): {self.roll.text}"]
        alike: dict[tuple[str, ...], list[Stack]] = {}
        for stack, frames in self.stacks:
            if stack.requests:
                more = "; …" if stack.requests > len(stack.waiting) else ""
                text = "; ".join(stack.waiting)
                lines.append(f"  rank {stack.rank} waits for {stack.requests} requests: {text}{more}")
            alike.setdefault(frames or (stack.silent,), []).append(stack)
        for frames, stacks in alike.items():
            of = f"stack of {ranks_text(sorted({stack.rank for stack in stacks}))}"
            if stacks[0].silent:
                lines.append(f"  {of}: not known: {stacks[0].silent}")
            else:
                lines += [f"  {of}:", *(f"    {frame}" for frame in frames[:_MOST_FRAMES])]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return the same for programs."""
        verdict = self.roll.verdict
        return {
            "run": self.run,
            "program": self.program,
            "ranks": self.ranks,
            "verdict": {"kind": verdict.kind, "text": verdict.text, "ranks": list(verdict.ranks)},
            "groups": list(self.roll.groups),
            "stacks": [
                {
                    "rank": stack.rank,
                    "process": stack.pid,
                    "thread": stack.tid,
                    "frames": list(frames),
                    "silent": stack.silent,
                    "requests": stack.requests,
                    "waiting": list(stack.waiting),
                }
                for stack, frames in self.stacks
            ],
        }


def roll_calls(looking: Looking, resolve: Resolver = plain) -> list[Told]:
    """Return the roll-call of each program; its two looks must have been taken.

    `resolve` gives names to places of code. Raises `RecorderError` if no program runs.
    """
    return [tell(program, looking.is_here, resolve) for program in looking.programs()]


def tell(program: Running, is_here: bool = True, resolve: Resolver = plain) -> Told:
    """Return the roll-call of one program; its ranks are asked for their stacks if they are here."""
    roll = program.roll_call()
    culprits = set(roll.verdict.ranks[:_MOST_ASKED])
    alive = [
        p for p in program.after if p.rank in culprits and p.state not in ("dead", "") and not p.finalized
    ]
    stacks = ask(alive) if is_here and roll.verdict.kind != "none" else []
    named = tuple((stack, _named(stack, resolve)) for stack in _of_main(stacks, alive))
    return Told(program.run, program.any.program, program.any.size, roll, named)


def _of_main(stacks: Sequence[Stack], processes: Sequence[Process]) -> list[Stack]:
    """Leave out the stacks of threads that are not in MPI."""
    inside = {
        (process.rank, thread.tid) for process in processes for thread in process.threads if thread.call
    }
    main = {(process.rank, process.main.tid) for process in processes}
    return [stack for stack in stacks if (stack.rank, stack.tid) in inside | main]


def _named(stack: Stack, resolve: Resolver) -> tuple[str, ...]:
    """Return lines; those of our library and below the program's entry say nothing."""
    frames = [frame for frame in stack.frames if not _is_ours(frame.module)]
    return tuple(resolve(frames))


def _is_ours(module: str) -> bool:
    return Path(module).name.startswith("libhaloscope-")
